// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusSync

/// The inputs of one cycle must not act in the next cycle, although the audio thread keeps its memory.
struct OneCycleTests {
  /// Plays cycles with a sequencer's clock at 120 BPM: one clock message every 1000 frames.
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

  @Test func `a received clock message is counted once`() {
    let studio = Studio(tempo: 100)
    studio.settings.lead = .midi
    playClock(studio, seconds: 3)
    #expect(studio.report.clockIn.state == .locked)
    #expect(abs(studio.report.clockIn.tempo - 120) < 0.01)
    studio.play(seconds: 1)
    #expect(studio.report.clockIn.state == .lost)
  }

  @Test(arguments: [10.0, -25])
  func `an offset of a leading MIDI clock moves the session, not its tempo`(
    milliseconds: Double
  ) {
    let cable = ClockCable(.own { _ in 120 }, tempo: 120)
    cable.send(MIDI.start)
    cable.play(seconds: 20)
    #expect(cable.studio.report.clockIn.state == .locked)
    let before = Grid(cable.studio.timeline).beat(at: 2e9)
    cable.studio.settings.offsets[.control] = Micros(rounding: milliseconds * 1000)
    cable.play(seconds: 30)
    let moved = Grid(cable.studio.timeline).beat(at: 2e9) - before
    #expect(abs(cable.tempo - 120) < 0.001)
    #expect(abs((moved - moved.rounded()) * 500 - milliseconds) < 1.5, "\(moved)")
  }

  @Test func `a MIDI clock that leads again is measured from the beginning`() {
    let studio = Studio(tempo: 100)
    studio.settings.lead = .midi
    playClock(studio, seconds: 3)
    studio.settings.lead = .link
    playClock(studio, seconds: 0.5)
    #expect(studio.report.clockIn.state == .silent)
    studio.settings.lead = .midi
    studio.play(256)
    #expect(studio.report.clockIn.state == .silent)
    playClock(studio, seconds: 3)
    #expect(abs(studio.report.clockIn.tempo - 120) < 0.01)
  }

  @Test func `a cycle without frames sends no MIDI message`() {
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
