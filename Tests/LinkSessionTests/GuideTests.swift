// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import LinkWire
import Testing

@testable import LinkSession

/// Whose clock a session goes by, however its peers are wired: what ours tell each other of it.
@Suite struct GuideTests {
  /// A member that says whose clock it tells the time by.
  private func member(_ name: UInt64, of root: UInt64, steps: UInt8, jumps: UInt32 = 0) -> Stranger {
    var member = Stranger(name, session: 7)
    member.state.clock = ClockOrigin(root: NodeID(rawValue: root), steps: steps, jumps: jumps)
    return member
  }

  /// A bench that `first` brought into session 7.
  private func bench(joining first: Stranger) -> Bench {
    var bench = Bench()
    bench.meet(first)
    bench.answerPings(as: first)
    #expect(bench.snapshot.session == NodeID(rawValue: 7))
    bench.sent = []
    return bench
  }

  /// What we say after everybody has been heard for so long.
  private func word(_ bench: inout Bench, among members: [Stranger], seconds: Int = 1) -> ClockOrigin? {
    for _ in 0..<4 * seconds {
      for member in members { bench.meet(member) }
      bench.wait(250_000)
      for member in members { bench.answerPings(as: member) }
    }
    return bench.takeAlives().last?.clock
  }

  private func origin(_ root: UInt64, _ steps: UInt8) -> [UInt64] { [root, UInt64(steps)] }

  private func told(_ clock: ClockOrigin?) -> [UInt64]? {
    clock.map { [$0.root.rawValue, UInt64($0.steps)] }
  }

  @Test func `who is alone or has founded the session goes by its own clock`() {
    var bench = Bench()
    bench.wait(300_000)
    let node = bench.snapshot.node.rawValue
    #expect(told(bench.takeAlives().last?.clock) == origin(node, 0))
    var stranger = Stranger(3, memberOf: bench)
    stranger.state.clock = ClockOrigin(root: NodeID(rawValue: 3), steps: 0)
    #expect(told(word(&bench, among: [stranger])) == origin(node, 0))
  }

  @Test func `each measurement is a step and the nearest to the best clock is asked`() {
    let near = member(9, of: 7, steps: 1)
    let far = member(8, of: 7, steps: 3)
    let lowest = member(2, of: 2, steps: 0)
    for (members, expected) in [
      ([near], origin(7, 2)), ([far], origin(7, 4)), ([far, near], origin(7, 2)),
      ([near, lowest], origin(7, 2)), ([lowest], origin(2, 1)), ([Stranger(7)], origin(7, 1)),
      ([Stranger(9, session: 7)], origin(9, 1)),
    ] as [([Stranger], [UInt64])] {
      var bench = bench(joining: members[0])
      #expect(told(word(&bench, among: members)) == expected)
    }
  }

  /// Two of ours, each behind a peer of the reference's that may have the founder's clock: both must choose the same one.
  @Test func `one of two inferred clocks is everybody's`() {
    for (other, isFollowed) in [(UInt64(3), true), (12, false)] {
      let bridge = Stranger(9, session: 7)
      var bench = bench(joining: bridge)
      bench.handle(.gatewayOpened(Bench.secondGateway))
      var friend = member(20, of: other, steps: 1)
      friend.state.clock!.isInferred = true
      for _ in 0..<8 {
        bench.meet(bridge)
        bench.meet(friend)
        bench.meet(Stranger(30, session: 7), on: Bench.secondGateway)
        bench.wait(250_000)
        for other in [bridge, friend] { bench.answerPings(as: other) }
      }
      let clock = bench.takeAlives().last?.clock
      #expect(told(clock) == (isFollowed ? origin(other, 2) : origin(9, 1)))
      #expect(clock?.isInferred == true)
    }
  }

  /// An attacker that claims the founder's clock as its own, under a lower id than the founder's.
  @Test func `nobody is asked before the founder`() {
    for (steps, isInferred) in [(UInt8(0), false), (0, true), (1, false), (1, true), (5, true), (255, false)]
    {
      let founder = Stranger(7)
      var liar = member(1, of: 7, steps: steps)
      liar.state.clock!.isInferred = isInferred
      liar.ghost.intercept = founder.ghost.intercept + Micros(200_000)
      var bench = bench(joining: founder)
      bench.meet(liar)
      #expect(told(word(&bench, among: [founder, liar], seconds: 40)) == origin(7, 1))
      #expect(bench.machine.source == Source(founder) && bench.machine.ghost == founder.ghost)
    }
    // Nor is its word taken where the founder is on another wire.
    var liar = member(1, of: 7, steps: 0)
    let honest = member(9, of: 7, steps: 2)
    var bench = bench(joining: honest)
    #expect(told(word(&bench, among: [honest, liar], seconds: 2)) == origin(7, 3))
    liar.state.clock = ClockOrigin(root: liar.state.node, steps: 3)
    #expect(told(word(&bench, among: [honest, liar], seconds: 2)) == origin(7, 3))
  }

  /// The founder's clock goes round among those who followed it, a step farther each time.
  @Test func `a clock whose owner is gone is out of reach after six steps`() {
    for (steps, isFollowed) in [(UInt8(5), true), (6, false), (7, false), (255, false)] {
      let other = member(.max, of: 7, steps: steps)
      var bench = bench(joining: other)
      let node = bench.snapshot.node.rawValue
      let expected = isFollowed ? origin(7, steps + 1) : origin(node, 0)
      #expect(told(word(&bench, among: [other])) == expected, "\(steps) steps")
    }
  }

  @Test func `who follows us is not followed`() {
    let first = member(9, of: 9, steps: 0)
    var bench = bench(joining: first)
    let node = bench.snapshot.node
    var follower = member(3, of: 0, steps: 1)
    follower.state.clock!.root = node
    bench.hear(first.byeBye, from: first.source)
    #expect(told(word(&bench, among: [follower])) == origin(node.rawValue, 0))
    for _ in 0..<40 {
      bench.wait(1_000_000)
      bench.meet(follower)
    }
    #expect(bench.takeSent().allSatisfy { $0.ping == nil })
  }

  /// Its last word says whose clock it had, not whose it has.
  @Test func `who has fallen silent is not followed`() {
    for (first, followed) in [(member(9, of: 2, steps: 1), origin(2, 2)), (Stranger(7), origin(7, 1))] {
      let other = member(11, of: 11, steps: 0)
      var bench = bench(joining: first)
      let silent = member(12, of: 1, steps: 1)
      for one in [first, other] { bench.meet(one) }
      bench.meet(silent)
      // Nor was it asked yet, before it fell silent.
      #expect(told(word(&bench, among: [first, other], seconds: 2)) == followed)
      #expect(
        told(word(&bench, among: [other], seconds: 4)) == followed, "who told us the time is waited for")
      #expect(told(word(&bench, among: [other], seconds: 1)) == origin(11, 1))
      #expect(bench.snapshot.peerCount == 2, "it is there for all that")
    }
  }

  /// A liar has spoken in the founder's name where the founder itself was not heard.
  @Test func `the same name at another address is asked again soon`() {
    let liar = Stranger(7)
    var founder = liar
    founder.source.address = .v4(0x0a00_0242)
    founder.state.measurement = Endpoint(founder.source.address, port: 50_000)
    founder.ghost.intercept = liar.ghost.intercept - Micros(3_600_000)
    var bench = bench(joining: liar)
    _ = word(&bench, among: [liar], seconds: 2)
    #expect(bench.machine.ghost == liar.ghost)
    bench.wait(5_000_000)
    _ = word(&bench, among: [founder], seconds: 3)
    #expect(bench.machine.ghost == founder.ghost)
  }

  /// What it did not answer in the attack must not count against it for long, nor against whoever really has its name.
  @Test(arguments: [false, true]) func `who did not answer is asked again`(isFromElsewhere: Bool) {
    let friend = member(9, of: 9, steps: 0)
    var founder = Stranger(7)
    founder.ghost.intercept = friend.ghost.intercept - Micros(3_600_000)
    var bench = bench(joining: friend)
    for _ in 0..<8 {
      bench.meet(friend)
      bench.meet(founder)
      bench.wait(250_000)
      bench.answerPings(as: friend)
    }
    #expect(bench.machine.peers.nodes[founder.state.node]![0].isAvoided(at: bench.machine.uptime.now))
    bench.sent = []
    if isFromElsewhere {
      founder.source.address = .v4(0x0a00_0242)
      founder.state.measurement = Endpoint(founder.source.address, port: 50_000)
      bench.wait(5_000_000)
    }
    _ = word(&bench, among: [founder, friend], seconds: isFromElsewhere ? 2 : 6)
    #expect(bench.machine.ghost == founder.ghost)
  }

  /// By whoever waits for that: a host that stalls, a cable that comes loose, a socket that a flood fills.
  @Test(arguments: [2, 4]) func `who is silent for a while does not lose its name`(seconds: Int) {
    let founder = Stranger(7)
    let liar = impostor(of: founder)
    var bench = bench(joining: founder)
    _ = word(&bench, among: [founder, liar], seconds: 2)
    _ = word(&bench, among: [liar], seconds: seconds)
    #expect(bench.machine.ghost == founder.ghost)
    _ = word(&bench, among: [founder, liar], seconds: 40)
    #expect(bench.machine.ghost == founder.ghost && bench.machine.counters.forged > 0)
  }

  /// By packets in its name that say so, from its own address; a liar beside it has the lowest id.
  @Test(arguments: [Endpoint(Stranger(7).source.address, port: 9), nil])
  func `who answers is not asked elsewhere`(instead: Endpoint?) {
    let founder = Stranger(7)
    var forged = founder
    forged.state.measurement = instead
    var liar = Stranger(1, session: 7)
    liar.ghost.intercept = founder.ghost.intercept + Micros(250_000)
    var bench = bench(joining: founder)
    for _ in 0..<160 {
      for one in [founder, forged, liar] { bench.meet(one) }
      bench.wait(250_000)
      for one in [founder, liar] { bench.answerPings(as: one) }
      #expect(bench.machine.ghost == founder.ghost)
    }
  }

  /// Its sockets are opened anew, at another port.
  @Test func `who does not answer where it used to is asked where it says that it is`() {
    var founder = Stranger(7)
    var bench = bench(joining: founder)
    _ = word(&bench, among: [founder], seconds: 2)
    founder.state.measurement = Endpoint(founder.source.address, port: 50_001)
    founder.ghost.intercept = founder.ghost.intercept + Micros(10_000)
    _ = word(&bench, among: [founder], seconds: 42)
    #expect(bench.machine.ghost == founder.ghost)
  }

  /// On a wire where the founder is not.
  @Test func `the same name on another wire is not asked`() {
    let founder = Stranger(7)
    let liar = impostor(of: founder)
    var bench = Bench()
    bench.handle(.gatewayOpened(Bench.secondGateway))
    bench.meet(founder, on: Bench.secondGateway)
    bench.answerPings(as: founder, on: Bench.secondGateway)
    #expect(bench.machine.ghost == founder.ghost)
    for _ in 0..<160 {
      bench.meet(founder, on: Bench.secondGateway)
      bench.meet(liar)
      bench.wait(250_000)
      bench.answerPings(as: founder, on: Bench.secondGateway)
      bench.answerPings(as: liar)
      #expect(bench.machine.ghost == founder.ghost)
    }
  }

  /// Somebody else under its name, with another clock.
  private func impostor(of founder: Stranger) -> Stranger {
    var liar = founder
    liar.source.address = .v4(0x0a00_0242)
    liar.state.measurement = Endpoint(liar.source.address, port: 50_000)
    liar.ghost.intercept = founder.ghost.intercept + Micros(250_000)
    return liar
  }

  @Test func `a guide whose clock has jumped is asked again soon`() {
    // 256 times, too: nobody counts in so few.
    for jumped in [0, 1, 256] as [UInt32] {
      let hasJumped = jumped > 0
      var first = member(9, of: 2, steps: 1, jumps: 255)
      var bench = bench(joining: first)
      _ = word(&bench, among: [first], seconds: 5)
      let done = bench.machine.counters.measurementsDone
      if hasJumped {
        first.state.clock!.jumps += jumped
        first.ghost.intercept = first.ghost.intercept + Micros(400_000)
      }
      let jumps = bench.machine.clock.jumps
      _ = word(&bench, among: [first], seconds: 2)
      // Twice: which of its two clocks was wrong is not known.
      #expect(bench.machine.counters.measurementsDone == (hasJumped ? done + 2 : done))
      #expect(bench.machine.ghost == first.ghost)
      #expect(bench.machine.clock.jumps == (hasJumped ? jumps &+ 1 : jumps), "and so is whoever asks us")
    }
  }

  /// By an attacker that speaks in its name, four times a second.
  @Test func `a guide that says all the time that its clock has jumped is measured all the same`() {
    var first = member(9, of: 2, steps: 1)
    var bench = bench(joining: first)
    let done = bench.machine.counters.measurementsDone
    for _ in 0..<40 {
      first.state.clock!.jumps &+= 1
      bench.meet(first)
      // Its answers take their time: one ping in 5 ms, fifty for a measurement.
      for _ in 0..<50 {
        bench.wait(5_000)
        bench.answerPings(as: first, atMost: 1)
      }
    }
    #expect(bench.machine.counters.measurementsDone >= done + 5)
  }

  @Test func `news of a clock is said to everybody though nothing else changed`() {
    let near = member(9, of: 7, steps: 1)
    let far = member(8, of: 7, steps: 3)
    var bench = bench(joining: far)
    #expect(told(word(&bench, among: [far])) == origin(7, 4))
    #expect(told(word(&bench, among: [far, near])) == origin(7, 2))
  }

  /// The best one is heard of while another one is being asked.
  @Test func `who brought us in is not asked on if there is a better one`() {
    let better = member(8, of: 7, steps: 1)
    var bench = Bench()
    let first = member(9, of: 7, steps: 3)
    bench.meet(first)
    bench.meet(better)
    bench.answerPings(as: first)
    #expect(bench.snapshot.session == NodeID(rawValue: 7) && bench.machine.source == Source(first))
    #expect(told(word(&bench, among: [first, better], seconds: 2)) == origin(7, 2))
    #expect(bench.machine.source == Source(better))
  }

  /// All its members do, and find together again: none should be counted twice until it expires.
  @Test func `who leaves a session that cannot be says goodbye`() {
    var first = Stranger(9, session: 7)
    first.ghost.intercept = Limits.farthestTime - Micros(52_000_000)
    first.state.timeline.timeOrigin = first.ghost.ghost(atHost: Micros(50_000_000))
    var bench = bench(joining: first)
    let node = bench.snapshot.node
    for _ in 0..<12 {
      bench.meet(first)
      bench.wait(250_000)
    }
    #expect(bench.snapshot.session != NodeID(rawValue: 7))
    #expect(bench.takeSent().contains { $0.farewell == node })
  }

  /// Each half of a session that an attack divided has a clock of its own and a timeline that fits it.
  @Test func `a clock that our timeline does not fit brings a timeline that does`() {
    var first = Stranger(9, session: 7, intercept: 10_000_000_000_000)
    // As far as a beat can be by a clock that is four months on; by a young one it can't be.
    first.state.timeline.beatOrigin = Beats(micros: .max - 1 << 51 + 100_000_000_000_000)
    first.state.timeline.timeOrigin = first.ghost.ghost(atHost: Micros(50_000_000))
    var bench = bench(joining: first)
    #expect(bench.machine.timeline.beatOrigin == first.state.timeline.beatOrigin)
    let other = member(2, of: 2, steps: 0)
    _ = word(&bench, among: [first, other], seconds: 6)
    #expect(bench.machine.ghost == other.ghost)
    #expect(bench.snapshot.session == NodeID(rawValue: 7))
    #expect(bench.machine.timeline == other.state.timeline)
  }

  @Test func `the border between older and equally old moves with each look`() {
    let (low, high) = (NodeID(rawValue: 1), NodeID(rawValue: 9))
    func joins(_ lead: Int64, _ other: SessionID, _ own: SessionID, looks: Int) -> Bool {
      Belief.isBetter(other, olderBy: Micros(lead), than: own, looks: looks)
    }
    // At first exactly as everybody else judges.
    #expect(joins(500_001, high, low, looks: 0) && !joins(500_000, high, low, looks: 0))
    #expect(joins(-499_999, low, high, looks: 0) && !joins(-500_000, low, high, looks: 0))
    // Measured in vain or joined by mistake, both sides agree at the second look, though each is off by 20 ms.
    for error in stride(from: Int64(-20_000), through: 20_000, by: 1_000) {
      #expect(joins(500_000 + error, high, low, looks: 1))
      #expect(!joins(-500_000 + error, low, high, looks: 1))
    }
    // Never both better, never neither, where both measure alike.
    for looks in 0...7 {
      for lead in stride(from: Int64(-600_000), through: 600_000, by: 9_999) {
        #expect(joins(lead, high, low, looks: looks) != joins(-lead, low, high, looks: looks), "\(lead)")
      }
    }
  }
}
