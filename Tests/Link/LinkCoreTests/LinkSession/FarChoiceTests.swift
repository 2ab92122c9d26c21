// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkSession
import LinkWire
import Testing

@testable import LinkWorld

/// Changes of `FarWire.correction` and `FarWire.distance` during play.
@Suite struct FarChoiceTests {
  /// Two rooms with a relay and a peer each: relays 0 and 1, peers 2 and 3.
  private func rooms(seed: UInt64, jitter: Int64 = 4_000) -> LinkWorld {
    let world = LinkWorld(seed: seed)
    for room in 0...1 {
      world.plug(world.addPeer(partsPerMillion: Double(room) * 40 - 20, isRelay: true), intoSegment: 2 * room)
    }
    for room in 0...1 { world.plug(world.addPeer(), intoSegment: 2 * room) }
    var wire = FarConditions()
    (wire.there, wire.back) = (Micros(40_000), Micros(40_000))
    wire.jitter = Micros(jitter)
    world.join(0, 1, bySegment: 8, wire)
    for peer in 0...3 { world.setEnabled(true, peer: peer) }
    world.run(for: Micros(90_000_000))
    return world
  }

  private func choose(correction: Int64 = 0, distance: Double = 0, at side: Int, in world: LinkWorld) {
    let gateway = GatewayID(rawValue: UInt32(world.peers[side].interfaces[1]))
    world.handle(
      .farWire(correction: Micros(correction), distance: Beats(distance), on: gateway), by: side)
  }

  /// The session's beat at the present time, at each peer.
  private func beats(_ world: LinkWorld) -> [Double] {
    world.peers.map { peer in
      let snapshot = peer.snapshot
      return snapshot.sessionTimeline.beats(at: snapshot.ghost.ghost(atHost: peer.clock.host(at: world.now)))
        .value
    }
  }

  /// The microseconds by which the beat of the second room is later.
  private func later(_ world: LinkWorld) -> Double {
    let heard = beats(world)
    return (heard[0] - heard[1]) * 500_000
  }

  /// The largest step of either relay against the other within a twentieth of a second.
  private func largestStep(_ world: LinkWorld, seconds: Int) -> Double {
    var (last, largest) = (later(world), 0.0)
    for _ in 0..<seconds * 20 {
      world.run(for: Micros(50_000))
      let now = later(world)
      largest = max(largest, abs(now - last))
      last = now
    }
    return largest
  }

  @Test(arguments: [(0, 1.0), (1, -1)])
  func `an offset between rooms that is changed during play acts slowly`(side: Int, sign: Double) {
    let world = rooms(seed: 11)
    let before = later(world)
    #expect(abs(before) < 500)
    choose(correction: 8_000, at: side, in: world)
    #expect(largestStep(world, seconds: 10) < 400)
    #expect(abs(later(world) - before) > 2_000 && abs(later(world) - before) < 5_500)
    #expect(largestStep(world, seconds: 40) < 400)
    #expect(abs(abs(later(world) - before) - 8_000) < 500)
    // An offset at one relay makes the other room earlier.
    #expect((later(world) - before) * sign < 0)
    // The other peer of each room has followed its relay.
    let heard = beats(world)
    for room in [(0, 2), (1, 3)] { #expect(abs(heard[room.0] - heard[room.1]) * 500_000 < 2_500) }
    choose(correction: 0, at: side, in: world)
    #expect(largestStep(world, seconds: 50) < 400)
    #expect(abs(later(world) - before) < 500)
  }

  @Test func `the largest offsets, set in both rooms at once, cause no jump`() {
    let world = rooms(seed: 12, jitter: 0)
    let before = later(world)
    choose(correction: 250_000, at: 0, in: world)
    choose(correction: -250_000, at: 1, in: world)
    #expect(largestStep(world, seconds: 700) < 400)
    #expect(abs(abs(later(world) - before) - 500_000) < 1_000)
  }

  @Test func `an offset between rooms stops changing while they are disconnected`() {
    let world = rooms(seed: 13)
    let before = later(world)
    choose(correction: 200_000, at: 0, in: world)
    world.run(for: Micros(2_000_000))
    world.setWhole(false, segment: 8)
    world.run(for: Micros(300_000_000))
    // Two crystals drift for five minutes without a packet.
    let drifted = abs(later(world) - before)
    #expect(drifted < 15_000, "\(drifted)")
    world.setWhole(true, segment: 8)
    #expect(largestStep(world, seconds: 560) < 400)
    #expect(abs(abs(later(world) - before) - 200_000) < 1_000)
  }

  /// A room's beats go forward, never back, and the phase within a beat stays.
  @Test(arguments: [0, 1])
  func `changing the distance of rooms moves the beat by whole beats`(side: Int) {
    let world = rooms(seed: 14)
    var phases: [(peer: Int, gap: Double)] = []
    world.onPublish = { peer, before, after, _ in
      let host = world.peers[peer].clock.host(at: world.now)
      let moved =
        (after.sessionTimeline.beats(at: after.ghost.ghost(atHost: host))
        - before.sessionTimeline.beats(at: before.ghost.ghost(atHost: host))).value
      phases.append((peer, abs(moved - moved.rounded())))
      #expect(moved > -0.01)
    }
    for distance in [4.0, 1, 3, 0, 4096, 0] {
      choose(distance: distance, at: side, in: world)
      world.run(for: Micros(3_000_000))
      let heard = beats(world)
      let later = side == 0 ? heard[0] - heard[1] : heard[1] - heard[0]
      #expect(abs(later - distance) < 0.01, "\(later) instead of \(distance)")
      for room in [(0, 2), (1, 3)] { #expect(abs(heard[room.0] - heard[room.1]) < 0.01) }
    }
    #expect(phases.allSatisfy { $0.gap < 0.01 })
    #expect(Set(world.peers.map(\.snapshot.session)).count == 1)
    world.onPublish = nil
    // A new tempo is still adopted in both rooms.
    world.edit(3) { $0.setTempo(97, at: $1) }
    world.run(for: Micros(3_000_000))
    #expect(world.peers.allSatisfy { abs($0.snapshot.state.tempo - 97) < 0.001 })
  }

  @Test func `room settings for a missing or local gateway have no effect`() {
    let world = rooms(seed: 15)
    let before = beats(world)
    for gateway in [GatewayID(rawValue: UInt32(world.peers[0].interfaces[0])), GatewayID(rawValue: 999)] {
      world.handle(.farWire(correction: Micros(9_000), distance: Beats(4), on: gateway), by: 0)
    }
    world.run(for: Micros(1_000_000))
    for (now, then) in zip(beats(world), before) { #expect(abs(now - then - 2) < 0.01) }
  }
}
