// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAddresses
import LinkBeatMath
import TactusTestSupport
import Testing

@testable import FarLink

/// Programs that call each other, by one name or several, or call themselves: there is one connection (line)
/// to each other program.
struct OneLineTests {
  /// A world in which both sides accept calls and call each other.
  private func mutual(seed: UInt64, apart: Int64 = 0, _ change: (inout FarWorld) -> Void = { _ in })
    -> FarWorld
  {
    var world = FarWorld(seed: seed)
    change(&world)
    world.add(accepts: true)
    world.add(accepts: true)
    world.call(0, 1)
    world.run(for: Micros(apart))
    world.call(1, 0)
    return world
  }

  private func isOne(_ world: inout FarWorld) -> Bool {
    let before = world.sides.map(\.arrived.count)
    world.loss = 0
    for side in 0..<2 { world.send("\(world.now)", from: side) }
    world.run(for: Micros(300_000))
    return world.sides.indices.allSatisfy {
      world.sides[$0].board.views.map(\.calls) == [[0]] && world.isProven($0)
        && world.sides[$0].arrived.count == before[$0] + 1
        && world.sides[$0].opened.count - world.sides[$0].closed.count == 1
    }
  }

  @Test(arguments: 1...40) func `two programs that call each other share one connection`(seed: Int) {
    let dice = Int64(seed * 7919 % 40)
    var world = mutual(seed: UInt64(seed), apart: dice * dice * 1000)
    world.run(for: Micros(8_000_000))
    #expect(isOne(&world))
    // This connection carries no more datagrams than a connection with one caller: ten datagrams from each
    // side in ten idle seconds.
    let sent = world.recording.count
    world.run(for: Micros(10_000_000))
    #expect((18...22).contains(world.recording.count - sent))
    // Each side opens one connection, and at most a second connection before the sides know each other.
    #expect(world.sides.allSatisfy { $0.opened.count <= 2 })
  }

  @Test(arguments: campaign(1...8))
  func `a connection called from both sides survives loss, cuts and new keys`(
    seed: Int
  ) {
    var world = mutual(seed: UInt64(seed), apart: Int64(seed % 5) * 100_000) {
      ($0.jitter, $0.loss) = (50_000, 0.1)
    }
    world.run(for: Micros(20_000_000))
    #expect(isOne(&world))
    let opened = world.sides.map(\.opened.count)
    for _ in 0..<3 {
      world.isCut = true
      world.run(for: Micros(9_000_000))
      world.isCut = false
      world.loss = 0.1
      world.run(for: Micros(12_000_000))
      #expect(isOne(&world))
    }
    // Forty minutes with new keys: no datagram is lost, and no side seems away.
    world.jitter = 30_000
    for word in 0..<240 {
      for side in 0..<2 { world.send("\(side) \(word)", from: side) }
      world.run(for: Micros(10_000_000)) { world in
        if !(world.isProven(0) && world.isProven(1)) { Issue.record("away at \(world.now)") }
      }
    }
    for side in 0..<2 {
      #expect(world.heard(by: side).filter { $0.hasPrefix("\(1 - side) ") }.count == 240)
    }
    #expect(world.sides.map(\.opened.count) == opened)
  }

  @Test(arguments: [0, 1])
  func `after a restart or goodbye, mutual calls share one connection again`(side: Int) {
    var world = mutual(seed: 3)
    world.run(for: Micros(5_000_000))
    #expect(isOne(&world))
    world.restart(side, accepts: true)
    (world.sides[side].opened, world.sides[side].closed) = ([], [])
    world.call(side, 1 - side)
    world.run(for: Micros(12_000_000))
    #expect(isOne(&world))
    world.hangUp(side)
    world.run(for: Micros(200_000))
    #expect(world.sides[1 - side].board.views.map(\.state) == [.waiting])
    world.restart(side, accepts: true)
    (world.sides[side].opened, world.sides[side].closed) = ([], [])
    world.call(side, 1 - side)
    world.run(for: Micros(12_000_000))
    #expect(isOne(&world))
  }

  @Test func `if two programs call each other, one successful call is enough`() {
    var world = FarWorld()
    world.add(accepts: true)
    world.add(accepts: true)
    world.call(0, 1)
    // The called address is not that of the other side, as if a router blocked calls to it.
    world.sides[1].board.call(0, at: [FarWorld.place(50)], at: world.now)
    world.run(for: Micros(10_000_000))
    #expect(world.isProven(0))
    #expect(world.sides[1].board.views.map(\.state.isProven) == [false, true])
  }

  @Test func `two host names of one room share a connection until the room leaves`() {
    var world = FarWorld()
    world.add()
    world.add(accepts: true)
    world.call(0, 1, number: 0)
    world.call(0, 1, number: 1)
    for _ in 0..<60 {
      world.run(for: Micros(1_000_000))
      if world.now > Micros(5_000_000) {
        #expect(world.sides[0].board.views.map(\.calls) == [[0, 1]] && world.isProven(0))
      }
    }
    #expect(world.sides[1].board.views.count == 1)
    // When one name gets a new address, we call there, and the call by the other name is not lost.
    world.sides[0].board.call(1, at: [FarWorld.place(30)], at: world.now)
    world.hangUp(1)
    world.run(for: Micros(200_000))
    #expect(world.sides[0].board.views.map(\.calls) == [[0], [1]])
    world.restart(1, accepts: true)
    world.run(for: Micros(5_000_000))
    #expect(world.isProven(0) && !world.isProven(0, line: 1))
    // There are at most eight calls, even if all lead to one room.
    for number in 2..<12 { world.sides[0].board.call(number, at: [world.sides[1].address], at: world.now) }
    world.run(for: Micros(5_000_000))
    #expect(world.sides[0].board.views.reduce(0) { $0 + $1.calls.count } == FarLimits.lines)
    #expect(world.sides[0].board.counters.crowdedOut == 4)
  }

  @Test func `a program reports that it calls itself as long as it does so`() {
    var world = FarWorld()
    world.add(accepts: true)
    world.add(accepts: true)
    world.call(0, 0)
    world.run(for: Micros(3_000_000))
    #expect(world.sides[0].board.views.map(\.state) == [.ourselves])
    #expect(world.sides[0].opened.isEmpty)
    world.run(for: Micros(200_000_000))
    #expect(world.sides[0].board.views.map(\.state) == [.ourselves])
    // The name that led to this program now leads to another address.
    world.sides[0].board.call(0, at: [FarWorld.place(60)], at: world.now)
    world.run(for: Micros(20_000_000))
    #expect(world.sides[0].board.views.map(\.state) == [.waiting])
    world.sides[0].board.call(0, at: [world.sides[1].address], at: world.now)
    world.run(for: Micros(6_000_000))
    #expect(world.isProven(0))
    // An old hello of ours that comes back changes nothing.
    for flight in world.sides[0].sent where flight.bytes[0] == 1 {
      world.inject(flight.bytes, into: 0, from: flight.to)
    }
    #expect(world.isProven(0))
  }
}

extension LineState {
  fileprivate var isProven: Bool { if case .proven = self { true } else { false } }
}
