// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusTestSupport
import Testing

@testable import TactusSync

/// Play is pressed at any time. The transport is held until the bar, and click, clock and run gate begin with
/// that bar.
struct LaunchedSongTests {
  private func studio(tempo: Double, quantum: Double = 4, latency: UInt32 = 512) -> Studio {
    let studio = Studio(tempo: tempo)
    studio.asksBeforeRolling = true
    studio.settings.quantum = quantum
    studio.settings.click.isOn = true
    studio.settings.click.when = .rolling
    studio.latencies = [
      .click1: latency, .click2: latency, .clock: 300, .pulse: latency, .run: latency, .jack: latency,
    ]
    return studio
  }

  private func press(_ studio: Studio, from frame: UInt32 = 0) {
    studio.transport = Transport(state: .starting, frame: frame)
  }

  @Test(arguments: campaign([20.0, 97, 120, 300]), campaign([1.0, 4, 7]))
  func `click, MIDI clock and run gate begin on the session's bar`(tempo: Double, quantum: Double) throws {
    var dice = Dice(seed: UInt64(tempo * quantum))
    for _ in 0..<4 {
      let studio = studio(tempo: tempo, quantum: quantum)
      studio.listensToPulse = true
      studio.settings.pulse.isOn = false
      studio.play(seconds: Double.random(in: 0.1...2, using: &dice))
      press(studio)
      let pressedAt = studio.due
      studio.play(seconds: (quantum + 2.5) * 60 / tempo)
      let grid = Grid(studio.timeline)
      let first = try #require(studio.clicks.first)
      let boundary = grid.beat(at: first.heard)
      #expect(abs(first.heard - grid.time(of: boundary.rounded())) <= 12)
      #expect(Int(boundary.rounded()) % Int(quantum) == 0 && first.value == 1)
      #expect(first.heard - pressedAt <= (quantum + 0.1) * grid.beatMicros + 50_000)
      // Start comes half a clock interval before the downbeat, the first clock message on the downbeat, and
      // all other messages at their times.
      let receiver = MIDIClockTests.Receiver(studio.messages)
      #expect(receiver.starts == 1 && receiver.continues == 0 && receiver.stops == 0)
      let counted = try #require(receiver.counted.first)
      #expect(abs(counted.heard - grid.time(of: boundary.rounded())) <= 12)
      let start = try #require(studio.messages.first { $0.event.status == MIDI.start })
      #expect(counted.heard - start.heard >= min(1000, grid.beatMicros / 48 - 25))
      for (place, heard) in receiver.counted {
        #expect(Int(((grid.beat(at: heard) - boundary.rounded()) * 24).rounded()) == place)
      }
      let gate = try #require(studio.runEdges.first)
      #expect(abs(gate.heard - first.heard) <= 30 && gate.value == 1)
    }
  }

  @Test func `the song's beat counts up to zero while a start waits`() {
    let studio = studio(tempo: 120)
    studio.play(seconds: 2.1)
    press(studio)
    studio.play(256)
    var last = studio.report.song.beat
    #expect(last < -3.5 && last > -4 && studio.report.song.isWaiting)
    while studio.report.song.isWaiting {
      studio.play(256)
      #expect(studio.report.song.beat > last && studio.report.song.beat - last < 0.02)
      last = studio.report.song.beat
    }
    #expect(abs(last) <= 0.0054, "half a period of 256 frames")
    #expect(studio.report.song.isRolling)
  }

  @Test func `a stop while a start waits leaves the MIDI clock's receiver stopped`() {
    // The stop comes at every place of the wait, also between Start and the downbeat.
    for step in 0..<40 {
      let studio = studio(tempo: 120)
      studio.play(seconds: 2.1)
      press(studio)
      studio.play(seconds: 1.82 + Double(step) * 0.003)
      let rolled = studio.report.song.isRolling
      studio.transport.state = .stopped
      studio.play(seconds: 1)
      let receiver = MIDIClockTests.Receiver(studio.messages)
      #expect(!receiver.isRunning && receiver.starts == receiver.stops)
      if !rolled { #expect(receiver.counted.count <= 1) }
      #expect(studio.clicks.count <= 1)
      // After this stop another start must work as usual.
      press(studio)
      studio.play(seconds: 3)
      let again = MIDIClockTests.Receiver(studio.messages)
      #expect(again.isRunning && again.starts == receiver.starts + 1)
    }
  }

  @Test func `a tempo change while a start waits moves the start with the bar`() throws {
    for (from, to) in [(120, 60), (60, 140), (97, 187.3)] as [(Double, Double)] {
      let studio = studio(tempo: from)
      studio.play(seconds: 4.4 * 60 / from)
      press(studio)
      studio.play(seconds: 1.3 * 60 / from)
      studio.setTempo(to)
      studio.play(seconds: 5 * 60 / to)
      let grid = Grid(studio.timeline)
      let first = try #require(studio.clicks.first)
      #expect(abs(grid.beat(at: first.heard) - 8) * grid.beatMicros <= 12 && first.value == 1)
      let receiver = MIDIClockTests.Receiver(studio.messages)
      #expect(receiver.starts == 1 && receiver.stops == 0)
      for (place, heard) in receiver.counted.suffix(20) {
        #expect(Int(((grid.beat(at: heard) - 8) * 24).rounded()) == place)
      }
    }
  }

  @Test func `a start in the middle of the song sends song position and Continue`() throws {
    // Frame 100001 at 97 BPM is the song's beat 3.368. So the start waits until the session has the phase of
    // beat 3.368.
    var dice = Dice(seed: 3)
    for _ in 0..<10 {
      let studio = studio(tempo: 97)
      studio.play(seconds: Double.random(in: 0.1...3, using: &dice))
      press(studio, from: 100_001)
      studio.play(seconds: 5)
      let grid = Grid(studio.timeline)
      let receiver = MIDIClockTests.Receiver(studio.messages)
      #expect(receiver.continues == 1 && receiver.starts == 0 && receiver.counted.count > 40)
      let first = try #require(receiver.counted.first)
      let origin = (grid.beat(at: first.heard) - Double(first.place) / 24).rounded()
      #expect(Int(origin) % 4 == 0)
      for (place, heard) in receiver.counted {
        #expect(Int(((grid.beat(at: heard) - origin) * 24).rounded()) == place)
      }
      // Continue is sent while the start waits, so the receiver runs from the first sixteenth after the
      // transport rolls.
      let roll = try #require(studio.clicks.first)
      #expect(first.heard < roll.heard + 1)
    }
  }
}
