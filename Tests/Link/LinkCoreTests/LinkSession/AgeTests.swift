// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import Testing

@testable import LinkSession
@testable import LinkWorld

/// Sessions that reach the greatest age: after three years, or because a peer lied about the age.
@Suite struct AgeTests {
  /// Three peers in a session that reaches its greatest age in half a second.
  private func oldWorld(beat: Int64) -> LinkWorld {
    let world = LinkWorld(seed: 3)
    world.conditions.delay = Micros(3_000)
    world.conditions.jitter = Micros(2_000)
    for tempo in [90.0, 120, 140] {
      let peer = world.addPeer(
        tempo: tempo, host: Micros(Int64(tempo) * 1_000_000), partsPerMillion: tempo - 120)
      world.plug(peer)
      world.setEnabled(true, peer: peer)
      world.handle(.enableStartStopSync(true), by: peer)
    }
    world.run(for: Micros(5_000_000))
    let age = world.peers[0].machine.ghost.ghost(atHost: world.host(of: 0))
    let years = Limits.farthestTime - Micros(500_000) - age
    for peer in world.peers.indices {
      world.peers[peer].machine.ghost.intercept = world.peers[peer].machine.ghost.intercept + years
      var timeline = world.peers[peer].machine.timeline
      timeline.timeOrigin = timeline.timeOrigin + years
      timeline.beatOrigin = timeline.beatOrigin + Beats(millionths: beat)
      world.peers[peer].machine.timeline = timeline
      world.peers[peer].machine.revision += 1
    }
    // After this pause, all peers announce the changed state.
    for peer in world.peers.indices {
      world.peers[peer].machine.isBroadcastDue = true
      world.handle(.deadline, by: peer)
    }
    #expect(world.disagreement() == nil)
    return world
  }

  /// Around the end of the old session, some peers are already in the next session and some are not.
  @Test(arguments: [0, 1 << 60] as [Int64])
  func `a change made while a session ends reaches all peers`(beat: Int64) {
    for early in stride(from: Int64(-12_000), through: 12_000, by: 1_000) {
      let world = oldWorld(beat: beat)
      let session = world.peers[0].snapshot.session
      var jumps = 0
      world.onPublish = { peer, before, after, _ in
        let host = world.host(of: peer)
        let jump = after.state.timeline.beats(at: host) - before.state.timeline.beats(at: host)
        if abs(jump.millionths) > 5 { jumps += 1 }
      }
      world.run(for: Micros(500_000 - early))
      world.edit(0) { $0.setTempo(early % 2_000 == 0 ? 60 : 180, at: $1) }
      world.edit(2) { $0.setPlaying(true, at: $1) }
      world.run(for: Micros(1_000_000))
      #expect(world.disagreement() == nil, "\(early)")
      for peer in world.peers {
        #expect(peer.snapshot.session != session)
        #expect(peer.snapshot.state.tempo.rounded() == (early % 2_000 == 0 ? 60 : 180), "\(early)")
        #expect(peer.snapshot.state.isPlaying, "\(early)")
      }
      #expect(jumps == 0 && world.phaseErrors().allSatisfy { abs($0) < 5_000 })
    }
  }

  /// The newcomer has not heard the earlier start, and must not begin to play because the session ends.
  @Test func `a late member does not start playing when its session is replaced`() {
    let world = oldWorld(beat: 0)
    world.setCable(false, of: 2)
    for peer in 0..<2 {
      world.peers[peer].machine.startStop = SessionStartStop(
        isPlaying: true, beats: .zero, timestamp: Limits.farthestTime - Micros(60_000_000))
      world.peers[peer].machine.revision += 1
    }
    world.run(for: Micros(600_000))
    world.setCable(true, of: 2)
    world.run(for: Micros(2_000_000))
    #expect(world.disagreement() == nil)
    #expect(!world.peers[2].snapshot.state.isPlaying)
  }
}
