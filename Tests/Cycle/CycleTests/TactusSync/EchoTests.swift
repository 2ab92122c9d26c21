// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusTestSupport
import Testing

@testable import TactusSync

/// Our own MIDI clock that comes back to us while a MIDI clock leads, and clocks of other machines that look
/// like an echo.
struct EchoTests {
  @Test(arguments: [0.0, 3_000, 21_000, 60_000, 100_000], [0.0, 1_000])
  func `changing offsets move no tempo and reveal our echoed MIDI clock`(
    latency: Double, jitter: Double
  ) {
    for seed in 1...3 {
      let cable = ClockCable(.thru(latency), tempo: 120, seed: UInt64(seed))
      cable.jitter = jitter
      cable.play(seconds: 3)
      cable.look()
      for offset in [200, -200, 200, -200, 0] {
        cable.studio.settings.offsets[.clock] = Micros(Int64(offset) * 1000)
        cable.play(seconds: 1.5)
      }
      let note: Comment = "\(cable.slowest)...\(cable.fastest), noticed after \(cable.noticedAfter ?? -1) s"
      #expect(cable.fastest < 121 && cable.slowest > 119, note)
      #expect(cable.isEcho && cable.noticedAfter ?? 99 < 4, note)
    }
  }

  @Test(arguments: [40.0, 120, 187.3, 400])
  func `after a new period the next change reveals our echoed MIDI clock`(tempo: Double) {
    for seed in 1...3 {
      let cable = ClockCable(.patchbay, tempo: tempo, seed: UInt64(seed))
      cable.play(seconds: 4)
      cable.look()
      for frames: UInt32 in [2048, 64, 4096, 256, 2048, 64] {
        cable.frames = frames
        cable.play(seconds: 1.5)
      }
      let note: Comment = "\(cable.slowest)...\(cable.fastest), noticed after \(cable.noticedAfter ?? -1) s"
      #expect(cable.fastest < tempo * 1.001 && cable.slowest > tempo / 1.001, note)
      // A new period does not move the messages that we send, but the next change of our clock reveals the
      // echo.
      cable.studio.setTempo(tempo * 1.05)
      cable.play(seconds: 5)
      #expect(cable.isEcho, note)
    }
  }

  @Test(arguments: campaign([0.0, 1_500, 25_000, 95_000]), campaign([20.0, 120, 300, 999]))
  func `our own Start moves no tempo and reveals our echoed MIDI clock`(latency: Double, tempo: Double) {
    for (seed, jitter) in [(1, 0.0), (2, 1_000)] {
      let cable = ClockCable(.thru(latency), tempo: tempo, seed: UInt64(seed))
      cable.jitter = jitter
      cable.losesOneOf = 200
      cable.play(seconds: 4)
      cable.look()
      cable.start()
      cable.play(seconds: 10)
      let note: Comment =
        "jitter \(jitter), \(cable.slowest)...\(cable.fastest), noticed after \(cable.noticedAfter ?? -1) s"
      #expect(cable.fastest < tempo * 1.006 && cable.slowest > tempo / 1.006, note)
      #expect(cable.isEcho, note)
    }
  }

  @Test(
    arguments: campaign([0.0, 1_500, 12_000, 40_000, 100_000, 230_000]),
    campaign(ClockCable.Launching.allCases))
  func `our own MIDI Start that comes back moves neither tempo nor grid`(
    latency: Double, way: ClockCable.Launching
  ) {
    // The test begins at three times of Link's clock: a quarter of an hour, fifty minutes, and a month.
    for (jitter, isClosedBefore, start) in [(1_000.0, true, 1e9), (0, false, 3e9), (0, true, 2.6e12)] {
      let device = ClockCable.Device.thru(latency)
      let cable = ClockCable(isClosedBefore ? device : .none, tempo: 120, start: start)
      cable.jitter = jitter
      cable.play(seconds: 1.3)
      let timeline = cable.studio.timeline
      cable.look()
      let note: Comment = "jitter \(jitter), closed before: \(isClosedBefore)"
      cable.launch(way)
      cable.play(seconds: 2.2)
      if !isClosedBefore {
        cable.device = device
        cable.play(seconds: 0.9)
        cable.stop()
        cable.play(seconds: 0.4)
        cable.launch(way)
      }
      cable.play(seconds: 3)
      #expect(cable.studio.report.song.isRolling && cable.studio.report.clockIn.state == .locked, note)
      #expect(cable.isEcho, note)
      #expect(cable.proposals.isEmpty, note)
      #expect(cable.studio.timeline == timeline, note)
    }
  }

  @Test(arguments: campaign([120_000.0, 150_000, 180_000, 210_000, 225_000]))
  func `our own Start that comes back with delays moves no tempo or grid`(
    latency: Double
  ) {
    for seed: UInt64 in 1...16 {
      let cable = ClockCable(.thru(latency), tempo: 120, seed: seed)
      cable.jitter = 1_000
      cable.isLateOneOf = 20
      cable.losesCyclesOneOf = 150
      cable.play(seconds: 1.3)
      let timeline = cable.studio.timeline
      cable.look()
      cable.launch(.onTheBar)
      cable.play(seconds: 5)
      #expect(
        cable.proposals.isEmpty && cable.studio.timeline == timeline, "seed \(seed): \(cable.proposals)")
    }
  }

  /// The events that change the pace of the clock that we send.
  private enum Bend: CaseIterable {
    case start, offset, tempo

    func happen(to cable: ClockCable) {
      switch self {
      case .start: cable.start()
      case .offset: cable.studio.settings.offsets[.clock] = Micros(-12_000)
      case .tempo: cable.studio.setTempo(cable.tempo * 1.03)
      }
    }
  }

  @Test(arguments: campaign([20.0, 120, 300]), campaign([0.0, 1_000]))
  func `our echoed MIDI clock is noticed in two bars after it changes`(
    tempo: Double, jitter: Double
  ) {
    for bend in Bend.allCases {
      for (seed, latency) in [(1, 0.0), (3, 25_000), (5, 200_000)] {
        let cable = ClockCable(.thru(latency), tempo: tempo, seed: UInt64(seed))
        cable.jitter = jitter
        cable.play(seconds: max(3, 5 * 60 / tempo))
        cable.look()
        bend.happen(to: cable)
        cable.play(seconds: 12 * 60 / cable.tempo)
        let beats = (cable.noticedAfter ?? .infinity) * cable.tempo / 60
        #expect(beats <= 8, "\(bend), \(latency) us: after \(beats) beats")
      }
    }
  }

  @Test(arguments: campaign([47.0, 120, 187.3]), campaign([0.0, 1_000]))
  func `a sequencer at nearly the session's tempo is followed`(tempo: Double, jitter: Double) {
    for (seed, ppm) in [(1, 0.0), (2, 5), (3, -60), (4, 400)] {
      let cable = ClockCable(.own { _ in tempo * (1 + ppm / 1e6) }, tempo: tempo, seed: UInt64(seed))
      cable.jitter = jitter
      cable.play(seconds: 3)
      cable.look()
      cable.send(MIDI.start)
      cable.start()
      cable.play(seconds: 20)
      #expect(cable.noticedAfter == nil, "\(ppm) ppm")
      let error = cable.studio.report.hostPhaseError
      #expect(abs(error) < 1_200, "\(ppm) ppm: \(error) us")
    }
  }

  @Test(arguments: [0.0, 300, 1_000])
  func `a sequencer that is pushed and ramped is not taken for our own clock`(jitter: Double) {
    for seed: UInt64 in 1...6 {
      var dice = Dice(seed: seed)
      let slope = Double.random(in: -3...3, using: &dice)
      let cable = ClockCable(.own { 120 + slope * min(8, max(0, $0 - 8)) }, tempo: 120, seed: seed)
      cable.jitter = jitter
      cable.play(seconds: 3)
      cable.send(MIDI.start)
      cable.start()
      cable.look()
      for _ in 0..<24 {
        cable.play(seconds: Double.random(in: 0.2...1.5, using: &dice))
        if cable.isEcho { break }
        cable.pause(Double.random(in: -0.1...0.3, using: &dice))
      }
      #expect(
        cable.noticedAfter == nil, "seed \(seed), \(slope) BPM a second, after \(cable.noticedAfter ?? 0) s")
    }
  }

  @Test func `a peer's new tempo that our MIDI clock echoes reveals the echo`() {
    let cable = ClockCable(.thru(3_000), tempo: 120)
    cable.jitter = 700
    cable.play(seconds: 10)
    cable.studio.setTempo(132.04)
    cable.look()
    cable.play(seconds: 4)
    #expect(cable.fastest == cable.slowest && abs(cable.tempo - 132.04) < 0.01)
    #expect(cable.isEcho)
  }

  @Test(arguments: [0.0, 1_000])
  func `a sequencer whose MIDI clock replaces our own echo is followed`(jitter: Double) {
    let cable = ClockCable(.thru(12_000), tempo: 120)
    cable.jitter = jitter
    cable.play(seconds: 3)
    cable.start()
    cable.play(seconds: 3)
    #expect(cable.isEcho)
    // A sequencer of another tempo replaces the echo so fast that there is no silence.
    cable.device = .own { _ in 126 }
    cable.play(seconds: 4)
    #expect(!cable.isEcho && abs(cable.tempo - 126) < 0.35, "\(cable.tempo)")
    // Then a sequencer at the session's tempo replaces the echo. Its Start shows that it is not our clock.
    cable.device = .thru(12_000)
    cable.stop()
    cable.play(seconds: 2)
    cable.start()
    cable.play(seconds: 3)
    #expect(cable.isEcho)
    cable.device = .own { _ in 126 }
    cable.play(seconds: 1)
    cable.send(MIDI.start)
    cable.play(seconds: 5)
    #expect(!cable.isEcho)
    #expect(abs(cable.studio.report.hostPhaseError) < 1_200, "\(cable.studio.report.hostPhaseError) us")
  }

  @Test(arguments: [0.03, 0.3, 2])
  func `a machine that slowly follows our MIDI clock does not move our tempo`(weight: Double) {
    let cable = ClockCable(.follower(seconds: weight), tempo: 120)
    cable.play(seconds: 3)
    cable.look()
    cable.start()
    cable.play(seconds: 10)
    for offset in [200, -200, 0] {
      cable.studio.settings.offsets[.clock] = Micros(Int64(offset) * 1000)
      cable.play(seconds: 5)
    }
    let note: Comment = "\(cable.slowest)...\(cable.fastest), noticed after \(cable.noticedAfter ?? -1) s"
    #expect(cable.fastest < 120.6 && cable.slowest > 119.4, note)
  }
}
