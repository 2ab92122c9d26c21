// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import TactusTestSupport
import Testing

@testable import LinkSession

/// A liar is a member with the lowest id and a clock of its own. A peer that does not hear the founder for a
/// while must not take the time from the liar. Ableton's library asks the founder until the founder has
/// expired, and no other peer even if the founder does not answer.
@Suite struct LiarTests {
  /// Claims of a liar about the origin of its clock. nil: the liar announces none, like peers of Ableton's
  /// library.
  private static let claims: [ClockOrigin?] = [
    nil, ClockOrigin(root: NodeID(rawValue: 1), steps: 0),
    ClockOrigin(root: NodeID(rawValue: 1), steps: 0, isInferred: true),
    ClockOrigin(root: NodeID(rawValue: 7), steps: 1), ClockOrigin(root: NodeID(rawValue: 7), steps: 5),
  ]

  private let founder: Stranger
  private var liar: Stranger
  private var bench = Bench()

  init() {
    founder = Stranger(7)
    liar = Stranger(1, session: 7)
    liar.ghost.intercept = founder.ghost.intercept + Micros(250_000)
    bench.meet(founder)
    bench.answerPings(as: founder)
  }

  /// Lets `speakers` send and answer for some quarters of a second. Returns whether the founder's clock was
  /// kept throughout.
  private mutating func listen(to speakers: [Stranger], quarters: Int, answering: [Stranger]? = nil) -> Bool {
    var isKept = true
    for _ in 0..<quarters {
      for speaker in speakers { bench.meet(speaker) }
      for _ in 0..<10 {
        bench.wait(25_000)
        for speaker in answering ?? speakers { bench.answerPings(as: speaker) }
      }
      isKept = isKept && bench.machine.ghost == founder.ghost
    }
    return isKept
  }

  /// The founder is silent at various times of the measurement period, also when it is due to be asked.
  @Test(arguments: campaign(claims)) mutating func `a founder that falls silent for a while is not replaced`(
    claim: ClockOrigin?
  ) {
    liar.state.clock = claim
    for quarters in [6, 8, 12, 18] {
      for _ in 0..<8 {
        #expect(listen(to: [founder, liar], quarters: 9))
        #expect(listen(to: [liar], quarters: quarters), "silent for \(quarters) quarters of a second")
      }
    }
    #expect(listen(to: [founder, liar], quarters: 160))
    #expect(bench.snapshot.session == NodeID(rawValue: 7))
  }

  /// A flood of pings hides our pings from the founder just when we ask.
  @Test(arguments: campaign(claims))
  mutating func `a founder that sends Alives but no pongs for a while is not replaced`(
    claim: ClockOrigin?
  ) {
    liar.state.clock = claim
    for _ in 0..<20 {
      #expect(listen(to: [founder, liar], quarters: 9))
      #expect(listen(to: [founder, liar], quarters: 8, answering: [liar]))
    }
  }

  /// After the founder has left for good, we ask any other member for the time, as Ableton's library does. We
  /// ask the founder again as soon as it is back.
  @Test(arguments: campaign(claims)) mutating func `a founder that is back is followed again`(
    claim: ClockOrigin?
  ) {
    liar.state.clock = claim
    _ = listen(to: [founder, liar], quarters: 20)
    _ = listen(to: [liar], quarters: 60)
    #expect(bench.machine.ghost == liar.ghost)
    _ = listen(to: [founder, liar], quarters: 16)
    #expect(bench.machine.ghost == founder.ghost)
    #expect(listen(to: [founder, liar], quarters: 120))
  }

  /// The liar comes and goes, first with its own id, then with the founder's.
  @Test(arguments: campaign(claims)) mutating func `a lying peer that keeps coming back changes nothing`(
    claim: ClockOrigin?
  ) {
    liar.state.clock = claim
    var impostor = liar
    impostor.state.node = founder.state.node
    for round in 0..<15 {
      #expect(listen(to: [founder, liar, impostor], quarters: 3 + round % 9))
      if round % 2 == 0 { bench.receive(liar.byeBye, from: liar.source) }
      #expect(listen(to: [founder], quarters: 1 + round))
    }
  }

  /// The founder is on both of our networks. A liar on one of these networks uses its own id or the
  /// founder's.
  @Test(arguments: [UInt64(1), 7])
  mutating func `a liar on one of two networks is not asked while the founder is silent`(
    name: UInt64
  ) {
    bench = Bench()
    bench.handle(.gatewayOpened(Bench.secondGateway))
    liar.state.node = NodeID(rawValue: name)
    bench.meet(founder, on: Bench.secondGateway)
    bench.answerPings(as: founder, on: Bench.secondGateway)
    for quarter in 0..<240 {
      if quarter % 24 < 8 { bench.meet(founder, on: Bench.secondGateway) }
      bench.meet(liar)
      bench.wait(250_000)
      if quarter % 24 < 8 { bench.answerPings(as: founder, on: Bench.secondGateway) }
      bench.answerPings(as: liar)
      #expect(bench.machine.ghost == founder.ghost, "after \(quarter) quarters of a second")
    }
  }

  /// The founder's clock may have stood still, as in a suspend. Its followers know the session's time; the
  /// peer with the lowest id does not.
  @Test(
    arguments: [nil, ClockOrigin(root: NodeID(rawValue: 1), steps: 0)] as [ClockOrigin?], [0, 7_000_000])
  mutating func `after a stall the founder asks its followers for the time`(
    claim: ClockOrigin?, stoodStill: Int64
  ) {
    bench = Bench()
    var follower = Stranger(30, memberOf: bench)
    follower.state.clock = ClockOrigin(root: bench.snapshot.node, steps: 1)
    liar = Stranger(1, memberOf: bench)
    liar.state.clock = claim
    liar.ghost.intercept = liar.ghost.intercept + Micros(250_000)
    _ = listen(to: [follower, liar], quarters: 8)
    #expect(bench.machine.ghost == follower.ghost)
    bench.now = bench.now + Micros(3_000_000)
    follower.ghost.intercept = follower.ghost.intercept + Micros(stoodStill)
    for quarter in 0..<40 {
      _ = listen(to: [follower, liar], quarters: 1)
      #expect(quarter < 2 || bench.machine.ghost == follower.ghost, "after \(quarter) quarters of a second")
    }
    #expect(bench.machine.counters.clockSteps == 1 && bench.machine.clock.steps == 0)
  }
}
