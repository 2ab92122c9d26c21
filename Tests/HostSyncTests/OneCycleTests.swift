// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices
import Testing

@testable import HostSync

/// What belongs to one cycle is not there any more in the next: the audio thread keeps its memory.
struct OneCycleTests {
  /// Cycles with a sequencer's clock at 120 BPM: one each 1000 frames.
  private func playClock(_ studio: Studio, seconds: Double) {
    let end = studio.frame + Int(seconds * 48_000)
    while studio.frame < end {
      let first = (studio.frame + 999) / 1000 * 1000
      if first < studio.frame + 256 {
        studio.receive(MIDIEvent(frame: UInt32(first - studio.frame), status: MIDI.clock))
      }
      studio.play(256)
    }
  }

  @Test func aClockThatCameInIsHeardOnce() {
    let studio = Studio(tempo: 100)
    studio.settings.lead = .midi
    playClock(studio, seconds: 3)
    #expect(studio.report.clockInState == .locked)
    #expect(abs(studio.report.clockInTempo - 120) < 0.01)
    studio.play(seconds: 1)
    #expect(studio.report.clockInState == .lost)
  }

  @Test func whoLeadsAgainBeginsAnew() {
    let studio = Studio(tempo: 100)
    studio.settings.lead = .midi
    playClock(studio, seconds: 3)
    studio.settings.lead = .link
    playClock(studio, seconds: 0.5)
    #expect(studio.report.clockInState == .silent)
    studio.settings.lead = .midi
    studio.play(256)
    #expect(studio.report.clockInState == .silent)
    playClock(studio, seconds: 3)
    #expect(abs(studio.report.clockInTempo - 120) < 0.01)
  }

  @Test func aCycleWithoutFramesSaysNothing() {
    let studio = Studio(tempo: 120)
    studio.settings.clock.when = .always
    studio.settings.syncsStartStop = true
    studio.play(seconds: 1)
    studio.transport.state = .rolling
    while studio.proposals.isEmpty { studio.play(256) }
    let told = studio.messages.count
    studio.play(0)
    #expect(studio.proposals.isEmpty)
    #expect(studio.messages.count == told)
  }
}
