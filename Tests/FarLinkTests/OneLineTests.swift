// SPDX-License-Identifier: GPL-2.0-or-later
import Addresses
import BeatMath
import TestSupport
import Testing

@testable import FarLink

/// Who calls whom, by how many names, and itself: each other program has one line all the same.
struct OneLineTests {
  /// Both accept and both call.
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

  @Test(arguments: 1...40) func `two that call each other have one line, whoever was first`(seed: Int) {
    let dice = Int64(seed * 7919 % 40)
    var world = mutual(seed: UInt64(seed), apart: dice * dice * 1000)
    world.run(for: Micros(8_000_000))
    #expect(isOne(&world))
    // As much goes over it as over that of two of whom one calls: in ten silent seconds ten words of each side.
    let sent = world.recording.count
    world.run(for: Micros(10_000_000))
    #expect((18...22).contains(world.recording.count - sent))
    // Each was heard at once, and no line was opened twice for it, but for those that were two before it was known.
    #expect(world.sides.allSatisfy { $0.opened.count <= 2 })
  }

  @Test(arguments: campaign(1...8))
  func `on a bad wire, through cuts and through new keys, it stays one line with the keys of one call`(
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
    // Forty minutes, in which keys are made anew: no word is lost, and nobody seems away.
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
  func `of two that call each other one is started again, or leaves and comes back: it is one line`(side: Int)
  {
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

  @Test func `of two that call each other one can only be called: the other one's calls are enough`() {
    var world = FarWorld()
    world.add(accepts: true)
    world.add(accepts: true)
    world.call(0, 1)
    // Behind a router that lets no call in: the address that is called is not where the other one is.
    world.sides[1].board.call(0, at: [FarWorld.place(50)], at: world.now)
    world.run(for: Micros(10_000_000))
    #expect(world.isProven(0))
    #expect(world.sides[1].board.views.map(\.state.isProven) == [false, true])
  }

  @Test func `two names of one room are one room, and two again once it has left`() {
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
    // Where a name leads by now is where it is called, and no other is forgotten for it.
    world.sides[0].board.call(1, at: [FarWorld.place(30)], at: world.now)
    world.hangUp(1)
    world.run(for: Micros(200_000))
    #expect(world.sides[0].board.views.map(\.calls) == [[0], [1]])
    world.restart(1, accepts: true)
    world.run(for: Micros(5_000_000))
    #expect(world.isProven(0) && !world.isProven(0, line: 1))
    // No more than eight are called, however many are one.
    for number in 2..<12 { world.sides[0].board.call(number, at: [world.sides[1].address], at: world.now) }
    world.run(for: Micros(5_000_000))
    #expect(world.sides[0].board.views.reduce(0) { $0 + $1.calls.count } == FarLimits.lines)
    #expect(world.sides[0].board.counters.crowdedOut == 4)
  }

  @Test func `who calls itself is told so, and no longer than it is so`() {
    var world = FarWorld()
    world.add(accepts: true)
    world.add(accepts: true)
    world.call(0, 0)
    world.run(for: Micros(3_000_000))
    #expect(world.sides[0].board.views.map(\.state) == [.ourselves])
    #expect(world.sides[0].opened.isEmpty)
    world.run(for: Micros(200_000_000))
    #expect(world.sides[0].board.views.map(\.state) == [.ourselves])
    // Its name leads to somebody else now.
    world.sides[0].board.call(0, at: [FarWorld.place(60)], at: world.now)
    world.run(for: Micros(20_000_000))
    #expect(world.sides[0].board.views.map(\.state) == [.waiting])
    world.sides[0].board.call(0, at: [world.sides[1].address], at: world.now)
    world.run(for: Micros(6_000_000))
    #expect(world.isProven(0))
    // A hello of ours that is nobody's call any more says nothing.
    for flight in world.sides[0].sent where flight.bytes[0] == 1 {
      world.inject(flight.bytes, into: 0, from: flight.to)
    }
    #expect(world.isProven(0))
  }
}

extension LineState {
  fileprivate var isProven: Bool { if case .proven = self { true } else { false } }
}
