// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusTestSupport
import Testing

@testable import TactusSync

/// An hour of music, in two halves, with all disturbances of time: periods of any size, tempo ramps and
/// steps, and corrections of the session's clock by up to 2 ms in both directions. The sample rate is 8 kHz,
/// because the test looks only at beats. At that rate 1365 frames are as long as 8192 frames at 48 kHz.
struct PlayedHourTests {
  @Test(arguments: campaign([1, 2] as [UInt64]))
  func `in an hour every beat has a click and every 24th of it a MIDI clock`(seed: UInt64) {
    var dice = Dice(seed: seed)
    let studio = Studio(sampleRate: 8000, tempo: 120, seed: seed)
    studio.settings.clock.when = .always
    studio.settings.click.gain = 1
    studio.latencies[.click1] = 60
    studio.latencies[.clock] = 20
    var tempo = 120.0
    var target = 120.0
    let end = 8000 * 1800
    while studio.frame < end {
      let frames =
        UInt32.random(in: 0..<20, using: &dice) == 0 ? UInt32.random(in: 16...1365, using: &dice) : 171
      studio.play(frames)
      switch Int.random(in: 0..<60, using: &dice) {
      case 0: target = Double.random(in: 20...999, using: &dice)
      case 1: target = tempo
      case 2, 3:
        let correction = Int64.random(in: -2000...2000, using: &dice)
        studio.timeline.timeOrigin = studio.timeline.timeOrigin + Micros(correction)
      default: break
      }
      // A ramp moves the tempo towards the target by at most 4 % at a time.
      if abs(target - tempo) > 0.01, Int.random(in: 0..<5, using: &dice) == 0 {
        tempo = min(tempo * 1.04, max(tempo / 1.04, target))
        studio.setTempo(tempo)
      }
    }
    let beats = Int(studio.report.sessionBeat)
    #expect(beats > 10_000)
    // Only the order and the number of events matter: a receiver that counts clicks or clock messages must
    // reach the session's place.
    #expect(abs(studio.clicks.count - beats) <= 1)
    #expect(studio.clicks.enumerated().allSatisfy { $1.value == (($0 + 1) % 4 == 0 ? 1 : 0.5) })
    #expect(abs(studio.messages.count - Int(studio.report.sessionBeat * 24)) <= 12)
    #expect(studio.report.outputs.lostMIDI == 0)
    for (earlier, later) in zip(studio.messages, studio.messages.dropFirst()) {
      #expect(later.frame > earlier.frame)
    }
  }
}
