// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAddresses
import LinkBeatMath
import LinkSodium
import Testing

@testable import FarLink

/// Two rooms and the network between them, without an attacker.
struct LineTests {
  @Test func `two rooms with the same key are connected after 2.5 round trips`() {
    var world = FarWorld()
    world.add()
    world.add(accepts: true)
    world.call(0, 1)
    world.run(for: Micros(5 * 60_000 + 1_000))
    #expect(world.isProven(0) && world.isProven(1))
    #expect(world.sides[0].opened.count == 1 && world.sides[1].opened.count == 1)
    world.send("from the caller", from: 0)
    world.send("from the called", from: 1, as: .measurement)
    world.run(for: Micros(100_000))
    #expect(world.heard(by: 1) == ["from the caller"])
    #expect(world.heard(by: 0) == ["from the called"])
    #expect(world.sides[0].arrived.first?.channel == .measurement)
  }

  @Test func `a caller with another key gets no answer`() {
    var world = FarWorld()
    world.add(key: FarWorld.anotherKey)
    world.add(accepts: true)
    world.call(0, 1)
    world.run(for: Micros(60_000_000))
    #expect(world.sides[1].sent.isEmpty)
    #expect(world.sides[1].board.views.isEmpty)
    #expect(world.sides[1].board.counters.refused > 30)
    #expect(world.sides[1].board.refused?.from == world.sides[0].address)
    #expect(world.sides[0].board.views[0].state == .waiting)
  }

  @Test func `a program that does not accept calls answers no call`() {
    var world = FarWorld()
    world.add()
    world.add()
    world.call(0, 1)
    world.run(for: Micros(10_000_000))
    #expect(world.sides[1].sent.isEmpty && world.sides[1].board.counters.unasked > 5)
  }

  @Test(arguments: 1...20) func `two programs connect although every third datagram is lost`(seed: Int) {
    var world = FarWorld(seed: UInt64(seed))
    (world.loss, world.jitter) = (0.33, 40_000)
    world.add()
    world.add(accepts: true)
    world.call(0, 1)
    world.run(for: Micros(30_000_000))
    #expect(world.sides[0].opened.count == 1 && world.sides[1].opened.count == 1)
  }

  @Test
  func `only authentic and new datagrams show the address of a caller`() {
    var world = FarWorld.pair()
    world.send("here I am", from: 0)
    world.run(for: Micros(100_000))
    let word = world.delivered.last { $0.to == world.sides[1].address }!
    #expect(world.sides[1].isCallerHeard)
    var forged = word.bytes
    forged[12] ^= 1
    for bytes in [word.bytes, forged, [3], [UInt8](repeating: 1, count: 81), []] {
      world.inject(bytes, into: 1, from: word.from)
      #expect(!world.sides[1].isCallerHeard)
    }
    // No address is noted for a side that we call, because the system chooses the route to it.
    world.send("and I am here", from: 1)
    world.run(for: Micros(100_000))
    #expect(world.heard(by: 0).last == "and I am here" && !world.sides[0].isCallerHeard)
  }

  @Test func `an idle connection sends often enough to stay open in routers`() {
    var world = FarWorld.pair()
    let start = world.recording.count
    world.run(for: Micros(600_000_000))
    #expect(world.isProven(0) && world.isProven(1))
    #expect(world.sides.allSatisfy { $0.closed.isEmpty && $0.opened.count == 1 })
    for side in 0..<2 {
      let times = world.recording[start...].filter { $0.from == world.sides[side].address }.map(\.due)
      let gaps = zip(times.dropFirst(), times).map { ($0 - $1).count }
      #expect(gaps.max()! <= 2_000_000)
      #expect(times.count <= 700)
    }
  }

  @Test func `a network cut is reported, and then the same connection goes on`() {
    var world = FarWorld.pair()
    world.isCut = true
    world.run(for: Micros(30_000_000))
    guard case .away(let since) = world.sides[0].board.views[0].state else {
      Issue.record("the cut was not told")
      return
    }
    #expect(world.now - since >= Micros(28_000_000))
    #expect(!world.isProven(1))
    world.isCut = false
    world.run(for: Micros(3_500_000))
    #expect(world.isProven(0) && world.isProven(1))
    #expect(world.sides.allSatisfy { $0.closed.isEmpty && $0.opened.count == 1 })
    world.send("again", from: 0)
    world.send("again", from: 1)
    world.run(for: Micros(100_000))
    #expect(world.heard(by: 0) == ["again"] && world.heard(by: 1) == ["again"])
  }

  @Test func `a caller that is away for ten minutes is forgotten`() {
    var world = FarWorld.pair()
    world.isCut = true
    world.run(for: Micros(590_000_000))
    #expect(world.sides[1].closed.isEmpty)
    world.run(for: Micros(20_000_000))
    #expect(world.sides[1].closed.count == 1 && world.sides[1].board.views.isEmpty)
    #expect(world.sides[0].closed.isEmpty)
  }

  @Test(arguments: [0, 1]) func `a restarted program opens a new connection`(side: Int) {
    var world = FarWorld.pair()
    world.restart(side, accepts: side == 1)
    if side == 0 { world.call(0, 1) }
    world.run(for: Micros(10_000_000))
    #expect(world.isProven(0))
    #expect(world.isProven(1, line: world.sides[1].board.views.count - 1))
    if side == 1 {
      #expect(world.sides[0].closed.count == 1 && world.sides[0].opened.count == 2)
    } else {
      #expect(world.sides[1].opened.count == 2)
    }
  }

  @Test func `a room that says goodbye is called again`() {
    var world = FarWorld.pair()
    world.hangUp(1)
    world.run(for: Micros(100_000))
    #expect(world.sides[0].closed.count == 1 && world.sides[0].board.views[0].state == .waiting)
    world.restart(1, accepts: true)
    world.run(for: Micros(2_000_000))
    #expect(world.isProven(0) && world.isProven(1))
    world.hangUp(0)
    world.run(for: Micros(100_000))
    #expect(world.sides[1].board.views.isEmpty && world.sides[1].closed.count == 2)
  }

  @Test func `a room whose address changes is followed from its first datagram`() {
    var world = FarWorld.pair()
    for (moving, staying) in [(0, 1), (1, 0), (0, 1)] {
      world.sides[moving].address.port += 1
      world.send("here", from: moving)
      world.run(for: Micros(100_000))
      #expect(world.sides[staying].board.views[0].peer == world.sides[moving].address)
      world.send("there", from: staying)
      world.run(for: Micros(100_000))
      #expect(world.heard(by: moving).last == "there")
      // One datagram may be forged; the next datagram confirms the address.
      world.run(for: Micros(1_500_000))
    }
    #expect(world.sides.allSatisfy { $0.opened.count == 1 })
  }

  @Test func `a room that moves during a cut is recognized by its random name`() {
    var world = FarWorld.pair()
    world.isCut = true
    world.run(for: Micros(10_000_000))
    world.sides[1].address = FarWorld.place(77)
    world.isCut = false
    world.run(for: Micros(10_000_000))
    #expect(!world.isProven(0))
    world.sides[0].board.call(0, at: [FarWorld.place(78), FarWorld.place(77)], at: world.now)
    world.run(for: Micros(6_000_000))
    #expect(world.isProven(0) && world.sides[0].board.views[0].peer == FarWorld.place(77))
    #expect(world.sides[0].opened.count == 1)
  }

  @Test func `encryption keys are renewed without losing a datagram`() {
    var world = FarWorld.pair()
    world.jitter = 30_000
    var said = 0
    let handshakes = world.sides[0].board.counters.handshakes
    while world.now < Micros(3 * 3_600_000_000) {
      said += 1
      world.send("\(said)", from: 0)
      world.send("\(said)", from: 1)
      world.run(for: Micros(500_000))
    }
    #expect(world.sides[0].board.counters.handshakes - handshakes >= 5)
    for side in 0..<2 {
      #expect(world.heard(by: side) == (1...said).map(String.init))
      #expect(world.sides[side].board.counters.unsent == 0)
      #expect(world.sides[side].opened.count == 1)
    }
  }

  @Test func `a ninth calling room waits until one of eight connections is free`() {
    var world = FarWorld()
    let hub = world.add(accepts: true)
    for _ in 1...9 {
      let room = world.add()
      world.call(room, hub)
      world.run(for: Micros(500_000))
    }
    #expect(world.sides[hub].board.views.count == FarLimits.lines)
    #expect(!world.isProven(9) && world.sides[hub].board.counters.crowdedOut > 0)
    for room in 1...8 { world.send("\(room)", from: room) }
    world.run(for: Micros(100_000))
    #expect(Set(world.heard(by: hub)) == Set((1...8).map(String.init)))
    for line in 0..<8 { world.send("to \(line + 1)", from: hub, line: line) }
    world.run(for: Micros(100_000))
    for room in 1...8 { #expect(world.heard(by: room) == ["to \(room)"]) }
    world.off = [world.sides[3].address]
    world.run(for: Micros(12_000_000))
    #expect(world.isProven(9))
    #expect(world.sides[hub].closed.count == 1)
  }

  @Test func `a program that accepts calls may also call other programs`() {
    var world = FarWorld()
    for _ in 0..<3 { world.add(accepts: true) }
    world.call(0, 1, number: 0)
    world.call(0, 2, number: 1)
    world.call(1, 2)
    world.run(for: Micros(2_000_000))
    #expect(world.sides.map(\.board.views.count) == [2, 2, 2])
    #expect(world.sides.indices.allSatisfy { world.isProven($0) && world.isProven($0, line: 1) })
  }

  @Test func `rooms stay connected although their clocks count ninety years`() {
    var world = FarWorld.pair(at: Micros(3_000_000_000_000_000))
    #expect(world.isProven(0) && world.isProven(1))
    // The machines sleep for some hours, then for another ninety years.
    for pause in [Int64(30_000_000_000), 3_000_000_000_000_000] {
      world.now = world.now + Micros(pause)
      world.run(for: Micros(10_000_000))
      #expect(world.isProven(0))
      world.send("awake", from: 0)
      world.run(for: Micros(100_000))
      #expect(world.heard(by: 1).last == "awake")
    }
  }

  @Test func `encryption keys are renewed before their datagram numbers run out`() {
    var world = FarWorld.pair()
    let handshakes = world.sides[0].board.counters.handshakes
    world.sides[0].board.lines[0].pretend(sent: FarLimits.renewalNumber - 1)
    world.send("the last before", from: 0)
    world.run(for: Micros(3_000_000))
    #expect(world.sides[0].board.counters.handshakes > handshakes)
    #expect(world.heard(by: 1) == ["the last before"])
    // From here on the network lets nothing through, so no handshake can renew the keys.
    world.sides[0].board.lines[0].pretend(sent: FarLimits.numbers - 2)
    world.isCut = true
    for word in ["one", "two", "three", "four"] { world.send(word, from: 0) }
    let last = world.sides[0].sent.filter { $0.bytes[0] == 3 }.map { [UInt8]($0.bytes[5..<13]) }
    #expect(last.max { $0.lexicographicallyPrecedes($1) } == (FarLimits.numbers - 1).bigEndianBytes)
    #expect(Set(last.suffix(2)).count == 2 && world.sides[0].board.counters.unsent == 2)
    world.isCut = false
    world.run(for: Micros(3_000_000))
    world.send("under new keys", from: 0)
    world.run(for: Micros(100_000))
    #expect(world.heard(by: 1).last == "under new keys")
  }

  @Test func `the report on a connection shows the share of lost datagrams`() throws {
    var world = FarWorld.pair()
    world.loss = 0.05
    for _ in 0..<4000 {
      world.send("x", from: 0)
      world.run(for: Micros(50_000))
    }
    let loss = try #require(world.sides[1].board.views[0].loss)
    #expect((0.03...0.07).contains(loss), "\(loss)")
  }

  @Test func `payloads that are too long or on internal channels are not sent`() {
    var world = FarWorld.pair()
    world.send(String(repeating: "x", count: 512), from: 0)
    world.send(String(repeating: "x", count: 513), from: 0)
    world.send("", from: 0, as: .farewell)
    world.run(for: Micros(100_000))
    #expect(world.heard(by: 1).map(\.utf8.count) == [512] && world.isProven(1))
    #expect(world.sides[0].board.counters.unsent == 2)
  }

  @Test func `each room learns its own endpoint, also when its address changes`() {
    var world = FarWorld.pair()
    world.run(for: Micros(2_000_000))
    for side in 0..<2 { #expect(world.sides[side].board.views[0].seen == world.sides[side].address) }
    world.sides[0].address = FarWorld.place(90)
    for _ in 0..<3 {
      world.send("from elsewhere", from: 0)
      world.run(for: Micros(300_000))
    }
    #expect(world.sides[0].board.views[0].seen == FarWorld.place(90))
    let before = world.sides[1].sent.count
    for _ in 0..<20 {
      world.send("still there", from: 0)
      world.run(for: Micros(10_000))
    }
    #expect(world.sides[1].sent.count == before)
    let far = Endpoint(.v6(high: 0x2001_0db8 << 32, low: 7, scope: 0), port: 65_535)
    #expect(Endpoint(told: far.told[...]) == far)
    for count in [0, 1, 5, 7, 17, 19, 40] {
      #expect(Endpoint(told: [UInt8](repeating: 1, count: count)[...]) == nil)
    }
  }

  @Test func `a datagram sent just before a change of keys is received once`() {
    var world = FarWorld.pair()
    let handshakes = world.sides[1].board.counters.handshakes
    world.run(for: FarLimits.renewal - Micros(2_100_000))
    world.loss = 1
    world.send("held up", from: 0)
    let held = world.sides[0].sent.last!
    world.loss = 0
    while world.sides[1].board.counters.handshakes == handshakes && world.now < Micros(4_000_000_000) {
      world.run(for: Micros(10_000))
    }
    #expect(world.sides[1].board.counters.handshakes == handshakes + 1)
    for _ in 0..<3 { world.inject(held.bytes, into: 1, from: held.from) }
    #expect(world.heard(by: 1) == ["held up"])
  }

  @Test func `the secrets of handshakes are dropped after a handshake succeeds`() {
    var world = FarWorld()
    world.add()
    world.add(accepts: true)
    world.delay = Micros(700_000)
    world.call(0, 1)
    while world.sides[0].opened.isEmpty && world.now < Micros(60_000_000) { world.run(for: Micros(10_000)) }
    #expect(world.isProven(0) && world.sides[0].board.lines[0].attempts.isEmpty)
  }

  @Test func `the four-letter name of a key differs from that of another key`() {
    let names = [FarWorld.key, FarWorld.anotherKey].map { $0.name(by: Sodium.self) }
    #expect(names[0] != names[1] && names.allSatisfy { $0.count == 4 })
    #expect(FarWorld.key.name(by: Sodium.self) == names[0])
  }
}
