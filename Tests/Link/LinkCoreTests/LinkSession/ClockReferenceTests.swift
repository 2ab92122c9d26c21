// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import Testing

@testable import LinkSession

/// The announced origins of our peers' clocks, and the choice of the peer to ask, on any number of networks.
@Suite struct GuideTests {
  /// A member that announces the origin of its clock.
  private func member(_ name: UInt64, of root: UInt64, steps: UInt8, jumps: UInt32 = 0) -> Stranger {
    var member = Stranger(name, session: 7)
    member.state.clock = ClockOrigin(root: NodeID(rawValue: root), steps: steps, jumps: jumps)
    return member
  }

  /// A bench whose machine joined session 7 through the peer `first`.
  private func bench(joining first: Stranger) -> Bench {
    var bench = Bench()
    bench.meet(first)
    bench.answerPings(as: first)
    #expect(bench.snapshot.session == NodeID(rawValue: 7))
    bench.sent = []
    return bench
  }

  /// The clock origin in our machine's last Alive, after `members` have sent Alives and answered pings for
  /// `seconds`.
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

  @Test func `a peer that is alone, and a session's founder, use their own clocks`() {
    var bench = Bench()
    bench.wait(300_000)
    let node = bench.snapshot.node.rawValue
    #expect(told(bench.takeAlives().last?.clock) == origin(node, 0))
    var stranger = Stranger(3, memberOf: bench)
    stranger.state.clock = ClockOrigin(root: NodeID(rawValue: 3), steps: 0)
    #expect(told(word(&bench, among: [stranger])) == origin(node, 0))
  }

  @Test func `we ask the peer nearest to the best clock, and announce one more step`() {
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

  /// Two of our peers, each behind a peer of Ableton's library that may have the founder's clock, must choose
  /// the same clock.
  @Test func `of two clocks whose origin is only inferred, all peers take the same`() {
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

  /// An attacker with a lower id than the founder's claims the founder's clock as its own.
  @Test func `no other peer is asked for the time if the founder can be asked`() {
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
    // If the founder is on another network, the liar is not asked in this case either.
    var liar = member(1, of: 7, steps: 0)
    let honest = member(9, of: 7, steps: 2)
    var bench = bench(joining: honest)
    #expect(told(word(&bench, among: [honest, liar], seconds: 2)) == origin(7, 3))
    liar.state.clock = ClockOrigin(root: liar.state.node, steps: 3)
    #expect(told(word(&bench, among: [honest, liar], seconds: 2)) == origin(7, 3))
  }

  /// The founder's clock is passed round among its followers, one step farther each time.
  @Test func `a clock is passed from peer to peer over at most six measurements`() {
    for (steps, isFollowed) in [(UInt8(5), true), (6, false), (7, false), (255, false)] {
      let other = member(.max, of: 7, steps: steps)
      var bench = bench(joining: other)
      let node = bench.snapshot.node.rawValue
      let expected = isFollowed ? origin(7, steps + 1) : origin(node, 0)
      #expect(told(word(&bench, among: [other])) == expected, "\(steps) steps")
    }
  }

  @Test func `a peer that takes the time from us is not asked for the time`() {
    let first = member(9, of: 9, steps: 0)
    var bench = bench(joining: first)
    let node = bench.snapshot.node
    var follower = member(3, of: 0, steps: 1)
    follower.state.clock!.root = node
    bench.receive(first.byeBye, from: first.source)
    #expect(told(word(&bench, among: [follower])) == origin(node.rawValue, 0))
    for _ in 0..<40 {
      bench.wait(1_000_000)
      bench.meet(follower)
    }
    #expect(bench.takeSent().allSatisfy { $0.ping == nil })
  }

  /// A member's last packet describes the member's clock only at the time of that packet.
  @Test func `a member that fell silent is not asked for the time`() {
    for (first, followed) in [(member(9, of: 2, steps: 1), origin(2, 2)), (Stranger(7), origin(7, 1))] {
      let other = member(11, of: 11, steps: 0)
      var bench = bench(joining: first)
      let silent = member(12, of: 1, steps: 1)
      for one in [first, other] { bench.meet(one) }
      bench.meet(silent)
      // In this case the silent peer had not been asked before it fell silent.
      #expect(told(word(&bench, among: [first, other], seconds: 2)) == followed)
      #expect(
        told(word(&bench, among: [other], seconds: 4)) == followed, "who told us the time is waited for")
      #expect(told(word(&bench, among: [other], seconds: 1)) == origin(11, 1))
      #expect(bench.snapshot.peerCount == 2, "it is there for all that")
    }
  }

  /// A liar used the founder's id at an address where the founder itself was never heard.
  @Test func `a peer whose id appears at another address is soon asked for the time`() {
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

  /// A ping that is not answered during the attack must not count for long, and must not count against the
  /// true owner of the id.
  @Test(arguments: [false, true]) func `a peer that did not answer is asked again`(isFromElsewhere: Bool) {
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

  /// A host may stall, a cable may come loose, a flood may fill a socket: attackers wait for such moments.
  @Test(arguments: [2, 4]) func `a peer that is silent for a while keeps its id`(seconds: Int) {
    let founder = Stranger(7)
    let liar = impostor(of: founder)
    var bench = bench(joining: founder)
    _ = word(&bench, among: [founder, liar], seconds: 2)
    _ = word(&bench, among: [liar], seconds: seconds)
    #expect(bench.machine.ghost == founder.ghost)
    _ = word(&bench, among: [founder, liar], seconds: 40)
    #expect(bench.machine.ghost == founder.ghost && bench.machine.counters.forged > 0)
  }

  /// Forged packets from the peer's own address announce another endpoint; a liar with the lowest id is in
  /// the session, too.
  @Test(arguments: [Endpoint(Stranger(7).source.address, port: 9), nil])
  func `a peer that answers is not asked at another endpoint`(instead: Endpoint?) {
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

  /// The peer reopened its sockets at another port.
  @Test func `a peer that stops answering is asked at its new endpoint`() {
    var founder = Stranger(7)
    var bench = bench(joining: founder)
    _ = word(&bench, among: [founder], seconds: 2)
    founder.state.measurement = Endpoint(founder.source.address, port: 50_001)
    founder.ghost.intercept = founder.ghost.intercept + Micros(10_000)
    _ = word(&bench, among: [founder], seconds: 42)
    #expect(bench.machine.ghost == founder.ghost)
  }

  /// The founder is on another network.
  @Test func `a host on another network with a peer's id is not asked for the time`() {
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

  /// Another host with the founder's id and another clock.
  private func impostor(of founder: Stranger) -> Stranger {
    var liar = founder
    liar.source.address = .v4(0x0a00_0242)
    liar.state.measurement = Endpoint(liar.source.address, port: 50_000)
    liar.ghost.intercept = founder.ghost.intercept + Micros(250_000)
    return liar
  }

  @Test func `a peer whose clock has jumped is soon asked again`() {
    // The jump counter must not repeat after 256 jumps.
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
      // After a jump we measure twice: one of the two clocks was wrong, and we don't know which.
      #expect(bench.machine.counters.measurementsDone == (hasJumped ? done + 2 : done))
      #expect(bench.machine.ghost == first.ghost)
      #expect(bench.machine.clock.jumps == (hasJumped ? jumps &+ 1 : jumps), "and so is whoever asks us")
    }
  }

  /// An attacker sends packets with the asked peer's id four times a second.
  @Test func `a peer that always announces jumps is still measured`() {
    var first = member(9, of: 2, steps: 1)
    var bench = bench(joining: first)
    let done = bench.machine.counters.measurementsDone
    for _ in 0..<40 {
      first.state.clock!.jumps &+= 1
      bench.meet(first)
      // One ping is answered every 5 ms; a measurement takes about fifty pings.
      for _ in 0..<50 {
        bench.wait(5_000)
        bench.answerPings(as: first, atMost: 1)
      }
    }
    #expect(bench.machine.counters.measurementsDone >= done + 5)
  }

  @Test func `a change of the clock origin alone is announced`() {
    let near = member(9, of: 7, steps: 1)
    let far = member(8, of: 7, steps: 3)
    var bench = bench(joining: far)
    #expect(told(word(&bench, among: [far])) == origin(7, 4))
    #expect(told(word(&bench, among: [far, near])) == origin(7, 2))
  }

  /// The better peer appears while the first peer is measured.
  @Test func `a better peer replaces the peer through which we joined`() {
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

  /// All members leave and find each other again. Without goodbyes, each member would be counted twice until
  /// its old entry expires.
  @Test func `a peer that leaves an implausible session says goodbye`() {
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

  /// After an attack has split a session, each half has its own clock and a timeline that fits it.
  @Test func `if a peer's clock does not fit our timeline, we take the peer's`() {
    var first = Stranger(9, session: 7, intercept: 10_000_000_000_000)
    // This is the farthest plausible beat of a session that is four months old. It is implausible in a
    // younger session.
    first.state.timeline.beatOrigin = Beats(millionths: .max - 1 << 51 + 100_000_000_000_000)
    first.state.timeline.timeOrigin = first.ghost.ghost(atHost: Micros(50_000_000))
    var bench = bench(joining: first)
    #expect(bench.machine.timeline.beatOrigin == first.state.timeline.beatOrigin)
    let other = member(2, of: 2, steps: 0)
    _ = word(&bench, among: [first, other], seconds: 6)
    #expect(bench.machine.ghost == other.ghost)
    #expect(bench.snapshot.session == NodeID(rawValue: 7))
    #expect(bench.machine.timeline == other.state.timeline)
  }

  @Test func `the age margin between two sessions changes with each measurement`() {
    let (low, high) = (NodeID(rawValue: 1), NodeID(rawValue: 9))
    func joins(_ lead: Int64, _ other: SessionID, _ own: SessionID, looks: Int) -> Bool {
      PacketJudge.isBetter(other, olderBy: Micros(lead), than: own, looks: looks)
    }
    // The first measurement decides as Ableton's library does.
    #expect(joins(500_001, high, low, looks: 0) && !joins(500_000, high, low, looks: 0))
    #expect(joins(-499_999, low, high, looks: 0) && !joins(-500_000, low, high, looks: 0))
    // At the second measurement both sides agree, even if each is off by 20 ms and the first measurement was
    // in vain.
    for error in stride(from: Int64(-20_000), through: 20_000, by: 1_000) {
      #expect(joins(500_000 + error, high, low, looks: 1))
      #expect(!joins(-500_000 + error, low, high, looks: 1))
    }
    // If both sides measure the same difference, exactly one session is better.
    for looks in 0...7 {
      for lead in stride(from: Int64(-600_000), through: 600_000, by: 9_999) {
        #expect(joins(lead, high, low, looks: looks) != joins(-lead, low, high, looks: looks), "\(lead)")
      }
    }
  }
}
