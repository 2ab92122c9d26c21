// SPDX-License-Identifier: GPL-2.0-or-later
import Addresses
import BeatMath
import TestSupport
import Testing

@testable import FarLink

/// Somebody on the wire who hears everything, sends anything from any address, and knows the code.
struct HostileTests {
  static let stranger = Endpoint(.v4(0xc0a8_0101), port: 666)

  /// What must be the same after an attack as before.
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

  @Test func `whatever was recorded and is said again, at any moment, by anybody, changes nothing`() {
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
            for from in [HostileTests.stranger, flight.from] {
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

  @Test func `hellos of an earlier life open nothing in this one, and their answers are shorter and few`() {
    var world = FarWorld()
    world.add()
    world.add(accepts: true)
    world.isCut = true
    world.call(0, 1)
    // A night of calls that nobody heard.
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
    // Who calls now gets in beside them.
    #expect(world.sides[1].board.views.count == 1 && world.isProven(0))
  }

  @Test func `what we said ourselves and comes back is not somebody else`() {
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
    // And of a proven line.
    world = FarWorld.pair()
    for word in 0..<20 { world.send("\(word)", from: word % 2) }
    for side in 0..<2 {
      let before = Standing(world, side)
      for flight in world.sides[side].sent { world.inject(flight.bytes, into: side, from: flight.to) }
      #expect(Standing(world, side) == before)
    }
  }

  @Test func `no datagram with another bit, or shorter, or longer, is taken`() {
    var world = FarWorld()
    world.add()
    world.add(accepts: true)
    world.call(0, 1)
    var kinds: Set<UInt8> = []
    // Each is forged just before it comes.
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

  @Test func `a flood of hellos costs little, and a room that calls gets in beside it`() {
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
      // From three thousand addresses, 20,000 a second.
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

  @Test func `a room that was known comes back through a flood at its first call`() {
    for seed in 1...5 as ClosedRange<UInt64> {
      // The room called us before, or we call it.
      for isCalled in [false, true] {
        var world = isCalled ? FarWorld(seed: seed) : FarWorld.pair(seed: seed)
        if isCalled {
          world.add()
          world.add(accepts: true)
          // Its name led there, but it does not accept calls.
          world.call(1, 0)
        } else {
          world.restart(0, accepts: false)
        }
        var flooding = SeededDice(seed: seed)
        func flood(_ world: inout FarWorld) {
          var hello = [UInt8](repeating: UInt8(seed), count: Datagram.helloSize)
          hello[0] = 1
          // Four hundred thousand in a second, each from an address of its own.
          for _ in 0..<400 {
            let source = Address.v4(.random(in: 1...0xdfff_ffff, using: &flooding))
            world.inject(hello, into: 1, from: Endpoint(source, port: 1))
          }
        }
        for _ in 0..<80 {
          flood(&world)
          world.run(for: Micros(1_000))
        }
        // At another moment of the purses each time.
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

  @Test func `a flood from one address leaves the others their turn`() {
    var world = FarWorld()
    world.add(accepts: true)
    for number in 0..<60_000 {
      world.inject(
        [1] + [UInt8](repeating: UInt8(number % 256), count: 80), into: 0, from: HostileTests.stranger)
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

  @Test func `who is faster with a copy is followed for no longer than it is`() {
    var world = FarWorld.pair()
    for word in 0..<50 {
      world.send("\(word)", from: 0)
      // It sees what is sent, and has it there first, from its own address.
      let copy = world.flights.last!
      world.inject(copy.bytes, into: 1, from: HostileTests.stranger)
      #expect(world.sides[1].board.views[0].peer == HostileTests.stranger)
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

  @Test func `nobody is showered because somebody pretended that a room is there`() {
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

  @Test func `an old datagram that was held back is too old to move anybody`() {
    var world = FarWorld.pair()
    world.send("held", from: 0)
    let held = world.flights.last!
    world.run(for: Micros(1_000_000))
    for word in 0..<2000 {
      world.send("\(word)", from: 0)
      world.run(for: Micros(10_000))
    }
    let before = Standing(world, 1)
    world.inject(held.bytes, into: 1, from: HostileTests.stranger)
    #expect(Standing(world, 1) == before)
    // One that is only late is taken, and moves nobody either.
    world.loss = 1
    world.send("late", from: 0)
    let late = world.recording.last!
    world.loss = 0
    world.send("later", from: 0)
    world.run(for: Micros(100_000))
    let home = world.sides[1].board.views[0].peer
    world.inject(late.bytes, into: 1, from: HostileTests.stranger)
    #expect(world.heard(by: 1).suffix(2) == ["later", "late"])
    #expect(world.sides[1].board.views[0].peer == home)
  }

  @Test(arguments: campaign(0..<8))
  func `whatever comes, and in whatever order, nothing breaks and nothing grows`(
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

  @Test func `the keys of a life are of no use to read another, and both directions have their own`() {
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
