// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAddresses
import LinkBeatMath
import TactusTestSupport
import Testing

@testable import FarLink

/// An attacker on the network that reads all datagrams, sends any datagram from any address, and knows the
/// program's code.
struct HostileCallerTests {
  static let stranger = Endpoint(.v4(0xc0a8_0101), port: 666)

  /// The state that an attack must not change.
  private struct Standing: Equatable {
    let views: [LineView]
    let arrived, opened, closed, handshakes: Int

    init(_ world: FarWorld, _ side: Int) {
      let it = world.sides[side]
      views = it.board.views
      (arrived, opened, closed) = (it.arrived.count, it.opened.count, it.closed.count)
      handshakes = it.board.counters.handshakes
    }
  }

  @Test func `replayed datagrams change nothing at any time, from any address`() {
    var world = FarWorld()
    world.add()
    world.add(accepts: true)
    var replays = 0
    world.call(0, 1)
    for round in 0..<20 {
      if round == 4 { world.restart(0, accepts: false) }
      if round == 4 { world.call(0, 1) }
      if round == 9 { world.isCut = true }
      if round == 14 { world.isCut = false }
      if !world.sides[1].board.views.isEmpty {
        world.send("there \(round)", from: 0)
        world.send("back \(round)", from: 1, line: world.sides[1].board.views.count - 1)
      }
      world.run(for: Micros(900_000)) { world in
        for flight in world.delivered {
          for side in 0..<2 {
            for from in [HostileCallerTests.stranger, flight.from] {
              let before = Standing(world, side)
              let sent = world.sides[side].sent.count
              world.inject(flight.bytes, into: side, from: from)
              replays += 1
              #expect(Standing(world, side) == before)
              #expect(world.sides[side].sent.count == sent)
              #expect(!world.sides[side].isCallerHeard)
            }
          }
        }
      }
    }
    #expect(replays > 2_000)
    #expect(world.heard(by: 1).count == Set(world.heard(by: 1)).count && world.heard(by: 1).count > 8)
    #expect(world.isProven(0))
  }

  @Test func `replayed calls of an earlier run get few answers and no connection`() {
    var world = FarWorld()
    world.add()
    world.add(accepts: true)
    world.isCut = true
    world.call(0, 1)
    // The caller calls for hours without an answer.
    world.run(for: Micros(20_000_000_000))
    let hellos = world.recording.map(\.bytes)
    #expect(hellos.count > 2 * FarLimits.hellos)
    world.isCut = false
    world.restart(1, accepts: true)
    world.restart(0, accepts: false)
    let start = world.now
    var victim = Endpoint(.v4(0x0808_0808), port: 53)
    for (number, hello) in (hellos + hellos + hellos).enumerated() {
      victim.address = .v4(0x0808_0000 + UInt32(number % 7919))
      world.inject(hello, into: 1, from: victim)
      if number == hellos.count { world.call(0, 1) }
      if number % 200 == 0 { world.run(for: Micros(100_000)) }
    }
    world.run(for: Micros(3_000_000))
    let seconds = Double((world.now - start).count) / 1e6
    let answers = world.sides[1].sent.filter { $0.bytes[0] == 2 && $0.to.port == 53 }
    #expect(answers.allSatisfy { $0.bytes.count < hellos[0].count })
    #expect(Double(answers.count) <= 64 * 2 * (seconds + 1))
    #expect(world.sides[1].board.candidates.count <= FarLimits.candidates)
    // An honest caller is connected in spite of these hellos.
    #expect(world.sides[1].board.views.count == 1 && world.isProven(0))
  }

  @Test func `datagrams of our own that come back open no connection`() {
    var world = FarWorld()
    world.add(accepts: true)
    let mirror = FarWorld.place(40)
    world.sides[0].board.call(0, at: [mirror], at: world.now)
    for _ in 0..<200 {
      world.run(for: Micros(100_000))
      for flight in world.sides[0].sent { world.inject(flight.bytes, into: 0, from: mirror) }
    }
    #expect(world.sides[0].opened.isEmpty && world.sides[0].board.counters.handshakes == 0)
    #expect(world.sides[0].sent.allSatisfy { $0.bytes[0] == 1 })
    #expect(world.sides[0].board.counters.reflected > 0)
    // On an open connection, too, our own datagrams that come back change nothing.
    world = FarWorld.pair()
    for word in 0..<20 { world.send("\(word)", from: word % 2) }
    for side in 0..<2 {
      let before = Standing(world, side)
      for flight in world.sides[side].sent { world.inject(flight.bytes, into: side, from: flight.to) }
      #expect(Standing(world, side) == before)
    }
  }

  @Test func `a datagram that was changed, shortened or extended is refused`() {
    var world = FarWorld()
    world.add()
    world.add(accepts: true)
    world.call(0, 1)
    var kinds: Set<UInt8> = []
    // The attacker forges each kind of datagram just before the true datagram comes.
    world.run(for: Micros(1_500_000)) { world in
      for flight in world.flights where kinds.insert(flight.bytes[0]).inserted {
        let side = world.sides.firstIndex { $0.address == flight.to }!
        let before = Standing(world, side)
        let sent = world.sides[side].sent.count
        for bit in 0..<flight.bytes.count * 8 {
          var bytes = flight.bytes
          bytes[bit / 8] ^= 1 << UInt8(bit % 8)
          world.inject(bytes, into: side, from: flight.from)
        }
        for count in 0..<flight.bytes.count {
          world.inject([UInt8](flight.bytes.prefix(count)), into: side, from: flight.from)
        }
        world.inject(flight.bytes + [0], into: side, from: flight.from)
        world.inject(flight.bytes + flight.bytes, into: side, from: flight.from)
        #expect(Standing(world, side) == before && world.sides[side].sent.count == sent)
      }
    }
    #expect(kinds == [1, 2, 3])
    world.run(for: Micros(2_000_000))
    #expect(world.isProven(0) && world.isProven(1))
  }

  @Test func `a caller connects during a flood of calls, few of which are decrypted`() {
    var world = FarWorld()
    world.add()
    world.add(accepts: true)
    world.call(0, 1)
    let start = world.now
    var flooding = SeededDice(seed: 9)
    for number in 0..<100_000 {
      var hello = [UInt8](repeating: 0, count: Datagram.helloSize).map { _ in
        UInt8.random(in: 0...255, using: &flooding)
      }
      hello[0] = 1
      // The hellos come from three thousand addresses, 20,000 a second.
      world.inject(hello, into: 1, from: Endpoint(.v4(UInt32(number % 3000) &* 7919), port: 1))
      if number % 100 == 0 { world.run(for: Micros(5_000)) }
    }
    let seconds = Double((world.now - start).count) / 1e6
    let counters = world.sides[1].board.counters
    #expect(counters.refused + counters.flooded == 100_000)
    #expect(Double(counters.refused) <= 64 * Double(FarLimits.knocks) * (seconds + 1))
    #expect(world.isProven(0) && world.isProven(1))
    #expect(world.sides[1].sent.allSatisfy { $0.to == world.sides[0].address })
  }

  @Test func `during a flood of calls a known room connects at its first call`() {
    for seed in 1...5 as ClosedRange<UInt64> {
      // The room is known because it called us before, or because we call it.
      for isCalled in [false, true] {
        var world = isCalled ? FarWorld(seed: seed) : FarWorld.pair(seed: seed)
        if isCalled {
          world.add()
          world.add(accepts: true)
          // The room's name led to its address, but the room does not accept calls.
          world.call(1, 0)
        } else {
          world.restart(0, accepts: false)
        }
        var flooding = SeededDice(seed: seed)
        func flood(_ world: inout FarWorld) {
          var hello = [UInt8](repeating: UInt8(seed), count: Datagram.helloSize)
          hello[0] = 1
          // Four hundred thousand hellos come in a second, each from an address of its own.
          for _ in 0..<400 {
            let source = Address.v4(.random(in: 1...0xdfff_ffff, using: &flooding))
            world.inject(hello, into: 1, from: Endpoint(source, port: 1))
          }
        }
        for _ in 0..<80 {
          flood(&world)
          world.run(for: Micros(1_000))
        }
        // With each seed the call comes at another moment, when other amounts of the limits are left.
        world.delay = Micros(15_000 + 1_000 * Int64(seed))
        world.call(0, 1)
        for _ in 0..<160 {
          flood(&world)
          world.run(for: Micros(1_000))
        }
        #expect(world.isProven(0), "seed \(seed), called \(isCalled)")
        #expect(world.sides[1].board.counters.flooded > 20_000)
      }
    }
  }

  @Test func `a flood of calls from one address does not keep other callers out`() {
    var world = FarWorld()
    world.add(accepts: true)
    for number in 0..<60_000 {
      world.inject(
        [1] + [UInt8](repeating: UInt8(number % 256), count: 80), into: 0, from: HostileCallerTests.stranger)
    }
    #expect(world.sides[0].board.counters.refused == FarLimits.knocks)
    var rooms = 0
    for _ in 0..<8 {
      let room = world.add()
      world.call(room, 0)
      world.run(for: Micros(300_000))
      rooms += world.isProven(room) ? 1 : 0
    }
    #expect(rooms >= 6)
  }

  @Test func `copied datagrams from an attacker redirect us only while they come`() {
    var world = FarWorld.pair()
    for word in 0..<50 {
      world.send("\(word)", from: 0)
      // The attacker's copy arrives first, from its own address.
      let copy = world.flights.last!
      world.inject(copy.bytes, into: 1, from: HostileCallerTests.stranger)
      #expect(world.sides[1].board.views[0].peer == HostileCallerTests.stranger)
      world.run(for: Micros(100_000))
    }
    #expect(world.heard(by: 1) == (0..<50).map(String.init))
    world.send("mine", from: 0)
    world.run(for: Micros(100_000))
    #expect(world.sides[1].board.views[0].peer == world.sides[0].address)
    world.send("for you", from: 1)
    world.run(for: Micros(100_000))
    #expect(world.heard(by: 0).last == "for you")
  }

  @Test func `a forged source address is sent at most one datagram`() {
    var world = FarWorld.pair()
    world.send("moved", from: 0)
    let copy = world.flights.last!
    world.isCut = true
    let victim = Endpoint(.v4(0x0101_0101), port: 53)
    world.inject(copy.bytes, into: 1, from: victim)
    let start = world.sides[1].sent.count
    for _ in 0..<1000 {
      world.send("a ping", from: 1)
      world.run(for: Micros(50_000))
    }
    #expect(world.sides[1].sent[start...].count { $0.to == victim } == 1)
    world.isCut = false
    world.run(for: Micros(5_000_000))
    #expect(world.isProven(0) && world.isProven(1))
  }

  @Test func `a delayed datagram does not change the endpoint of its sender`() {
    var world = FarWorld.pair()
    world.send("held", from: 0)
    let held = world.flights.last!
    world.run(for: Micros(1_000_000))
    for word in 0..<2000 {
      world.send("\(word)", from: 0)
      world.run(for: Micros(10_000))
    }
    let before = Standing(world, 1)
    world.inject(held.bytes, into: 1, from: HostileCallerTests.stranger)
    #expect(Standing(world, 1) == before)
    // A late datagram of the peer itself is accepted, but does not move the peer to another address either.
    world.loss = 1
    world.send("late", from: 0)
    let late = world.recording.last!
    world.loss = 0
    world.send("later", from: 0)
    world.run(for: Micros(100_000))
    let home = world.sides[1].board.views[0].peer
    world.inject(late.bytes, into: 1, from: HostileCallerTests.stranger)
    #expect(world.heard(by: 1).suffix(2) == ["later", "late"])
    #expect(world.sides[1].board.views[0].peer == home)
  }

  @Test(arguments: campaign(0..<8))
  func `random datagrams in any order break no connection and fill no table`(
    seed: Int
  ) {
    var world = FarWorld.pair(seed: UInt64(seed) + 1)
    var dice = SeededDice(seed: UInt64(seed) ^ 0xface)
    var injected: Set<[UInt8]> = []
    for step in 0..<6_000 {
      if step % 40 == 0 { world.send("\(step)", from: step / 40 % 2) }
      var bytes =
        Bool.random(using: &dice)
        ? world.delivered.randomElement(using: &dice)!.bytes
        : (0..<Int.random(in: 0...600, using: &dice)).map { _ in UInt8.random(in: 0...255, using: &dice) }
      for _ in 0..<Int.random(in: 0...3, using: &dice) where !bytes.isEmpty {
        bytes[Int.random(in: 0..<bytes.count, using: &dice)] = UInt8.random(in: 0...255, using: &dice)
      }
      if Int.random(in: 0..<4, using: &dice) == 0, !bytes.isEmpty {
        bytes[0] = .random(in: 1...3, using: &dice)
      }
      if Int.random(in: 0..<6, using: &dice) == 0 {
        bytes = bytes.dropLast(.random(in: 0...bytes.count, using: &dice))
      }
      injected.insert(bytes)
      world.inject(bytes, into: step % 2, from: Endpoint(.v4(.random(in: 1 ... .max, using: &dice)), port: 9))
      if step % 20 == 0 { world.run(for: Micros(50_000)) }
    }
    world.run(for: Micros(2_000_000))
    for side in 0..<2 {
      let words = world.heard(by: side)
      #expect(words.count == 75 && Set(words).count == 75)
      #expect(world.sides[side].opened.count == 1 && world.sides[side].board.views.count == 1)
      #expect(world.isProven(side))
      #expect(world.sides[side].board.candidates.count <= FarLimits.candidates)
    }
  }

  @Test func `encryption keys differ between runs and between directions`() {
    var texts: Set<[UInt8]> = []
    for seed in 1...20 {
      var world = FarWorld.pair(seed: UInt64(seed))
      for side in 0..<2 {
        world.send("the same words", from: side)
        texts.insert([UInt8](world.recording.last!.bytes.dropFirst(13)))
      }
    }
    #expect(texts.count == 40)
    #expect(!texts.contains { String(decoding: $0, as: UTF8.self).contains("same") })
  }
}
