// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Testing

@testable import HostSync

@Suite struct HostFollowerTests {
  @Test(arguments: [960.0, 1920], [false, true])
  func aSteadyHostIsFollowedWithinAMillisecondAndThenInSilence(ticks: Double, isPipeWire: Bool) {
    for (tempo, seed) in [(120.0, 1), (117.3, 2), (61.7, 3), (174, 4), (249.9, 5)] as [(Double, UInt64)] {
      var host = FakeHost(sessionTempo: 97, seed: seed)
      host.tempo = { _ in tempo }
      host.ticksPerBeat = ticks
      host.isPipeWire = isPipeWire
      host.jitter = 40
      host.losesOneIn = 200
      host.run(seconds: 5)
      let before = host.commits.count
      #expect(before < 10)
      host.run(seconds: 60) { #expect(abs($0.error) < 1000) }
      #expect(host.commits.count == before, "\(tempo): \(host.commits.dropFirst(before))")
      #expect(abs(host.session.tempo - tempo) < 0.01)
    }
  }

  @Test(arguments: [960.0, 1920], [false, true])
  func afterARampTheSessionIsThereInThreeSecondsAndThenThereIsSilence(ticks: Double, isPipeWire: Bool) {
    for seed in 1...8 as ClosedRange<UInt64> {
      var host = FakeHost(sessionTempo: 133, seed: seed)
      host.ticksPerBeat = ticks
      host.isPipeWire = isPipeWire
      host.jitter = 40
      host.losesOneIn = 200
      // As in the lab: a step each 25 ms or so, taken in the middle of a cycle.
      host.tempo = { seconds in 133 - 2 * min(20, max(0, ((seconds - 3) / 0.025).rounded(.down))) }
      host.run(seconds: 3)
      host.run(seconds: 0.5) { #expect(abs($0.error) < 10_000) }
      host.run(seconds: 3)
      #expect(!host.follower.isCorrecting)
      let before = host.commits.count
      host.run(seconds: 60) { #expect(abs($0.error) < 700) }
      #expect(host.commits.count == before, "\(host.commits.dropFirst(before))")
      #expect(abs(host.session.tempo - 93) < 0.01)
    }
  }

  @Test(arguments: [0.6, 1.5, 4.9]) func aSmallDistanceIsTakenUpByTwoProposals(milliseconds: Double) {
    var host = FakeHost()
    host.jitter = 40
    host.run(seconds: 5)
    host.mayForce = false
    let before = host.commits.count
    host.locate(host.beats + milliseconds / 500)
    host.run(seconds: 4)
    #expect(host.commits.count - before == 2)
    #expect(abs(host.error) < 200)
    #expect(abs(host.session.tempo - 120) < 0.01)
    host.run(seconds: 60)
    #expect(host.commits.count - before == 2)
  }

  @Test(arguments: [false, true]) func aHostThatStopsOrLeavesInACorrectionLeavesItsTempoBehind(leaves: Bool) {
    var host = FakeHost()
    host.run(seconds: 5)
    host.locate(host.beats + 0.008)
    host.run(seconds: 0.6)
    #expect(host.follower.isCorrecting && abs(host.session.tempo - 120) > 0.1)
    if leaves { host.hasLeft = true } else { host.isRolling = false }
    host.run(seconds: 0.2)
    #expect(!host.follower.isCorrecting && abs(host.session.tempo - 120) < 0.01)
  }

  @Test func aCycleThatShowsTheOneBeforeIsNoMeasurement() {
    var host = FakeHost()
    host.run(seconds: 5)
    let before = host.follower.phaseError
    host.showsOld = true
    host.run(seconds: 0.011)
    host.showsOld = false
    host.run(seconds: 0.006)
    #expect(abs(host.follower.phaseError - before) < 30)
  }

  @Test(arguments: [-100e-6, -20e-6, 20e-6, 100e-6])
  func aDriftingCrystalIsLearned(drift: Double) {
    var host = FakeHost()
    host.drift = drift
    host.jitter = 40
    host.run(seconds: 60)
    let before = host.commits.count
    host.run(seconds: 60) { #expect(abs($0.error) < 1000) }
    #expect(host.commits.count - before <= 2)
  }

  @Test func aRampIsFollowedWithAtMostTwentyProposalsASecond() {
    var host = FakeHost()
    host.tempo = { seconds in
      switch seconds {
      case ..<5: 120
      case ..<15: 120 - 6 * (seconds - 5)
      case ..<25: 60 + 12.7 * (seconds - 15)
      default: 187
      }
    }
    host.run(seconds: 5)
    var worst = 0.0
    host.run(seconds: 24) { worst = max(worst, abs($0.error)) }
    #expect(worst < 5000, "phase \(worst) us off in the ramp")
    host.run(seconds: 3)
    host.run(seconds: 10) { #expect(abs($0.error) < 1000) }
    for (earlier, later) in zip(host.commits, host.commits.dropFirst()) {
      #expect(later.time - earlier.time >= 50_000)
    }
  }

  @Test func withPeersTheGridIsNeverForcedUnlessTheHostIsTheClock() {
    var host = FakeHost()
    host.session.isConnected = true
    host.mayForce = false
    host.locate(1.3)
    host.run(seconds: 20)
    #expect(!host.commits.contains { if case .forceBeat = $0.change { true } else { false } })

    host.mayForce = true
    host.run(seconds: 3)
    #expect(host.commits.filter { if case .forceBeat = $0.change { true } else { false } }.count == 1)
    #expect(abs(host.error) < 1000)
  }

  @Test func aLocateOfTheClockTakesTheSessionAlong() {
    var host = FakeHost()
    host.run(seconds: 5)
    host.locate(64)
    host.run(seconds: 2)
    #expect(abs(host.error) < 1000)
  }

  @Test func whoJoinsASessionTakesItsTempoUntilTheHostChangesItsOwn() {
    var host = FakeHost()
    host.mayForce = false
    host.isRolling = false
    host.run(seconds: 2)
    host.session.isConnected = true
    host.session.setTempo(97, at: Micros(rounding: host.now))
    let before = host.commits.count
    host.run(seconds: 30)
    #expect(host.commits.count == before)
    host.tempo = { _ in 121 }
    host.run(seconds: 1)
    #expect(host.commits.count == before + 1)
    #expect(host.session.tempo == 121)
  }

  @Test func aHostBeyondLinksRangeGetsAMultiple() {
    for (tempo, session) in [(15.0, 30.0), (6, 24), (1200, 600), (2400, 600)] {
      var host = FakeHost()
      host.tempo = { _ in tempo }
      host.run(seconds: 20)
      #expect(abs(host.session.tempo - session) < 0.1, "\(tempo)")
    }
  }

  @Test func nonsenseIsCountedAndNothingIsProposed() {
    var follower = HostFollower()
    for tempo in [0, .nan, -3, 1e9, .leastNonzeroMagnitude] {
      let bbt = BBT(
        bar: 1, beat: 1, tick: 0, barStartTick: 0, beatsPerBar: 4, beatType: 4, ticksPerBeat: 1920,
        beatsPerMinute: tempo)
      for cycle in 0..<10 {
        let proposal = follower.follow(
          HostFollower.Observation(
            bbt: bbt, isRolling: true, heard: Double(cycle) * 1e5, grid: Grid(origin: 0, period: 500_000),
            quantum: 4, mayForce: true, isConnected: false))
        #expect(proposal == nil)
      }
    }
    #expect(follower.refused == 50)
  }

  @Test func aTempoThatShowsForOneCycleIsNoTempo() {
    var host = FakeHost()
    host.run(seconds: 5)
    let before = host.commits.count
    let start = host.played
    host.shownTempo = { $0 - start < 0.02 && $0 - start > 0.015 ? 300 : 120 }
    host.run(seconds: 1)
    #expect(host.commits.count == before)
  }
}
