// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkSession
import LinkWire
import func TactusTestSupport.campaign
import Testing

@testable import LinkWorld

/// Song sync among ten machines on two networks, and between rooms.
@Suite("Song sync in a world") struct SongWorldTests {
  /// Machines 0 to 7 share the song, 8 and 9 do not. Machine 0 is on both networks.
  private func world(seed: UInt64, loss: Double = 0.15) -> LinkWorld {
    var conditions = NetworkConditions()
    (conditions.delay, conditions.jitter, conditions.loss) = (Micros(1_000), Micros(2_000), loss)
    (conditions.reordering, conditions.duplication) = (0.05, 0.05)
    let world = LinkWorld(seed: seed, conditions: conditions)
    for peer in 0..<10 {
      world.addPeer(
        tempo: 120, host: Micros(Int64(peer) * 77_000_000 + 1_000_000),
        partsPerMillion: Double(peer * 7 % 10 - 5) * 8)
      world.plug(peer, intoSegment: peer % 2)
      if peer < 8 { world.handle(.enableSongSync(true), by: peer) }
    }
    world.plug(0, intoSegment: 1)
    for wire in 0...1 {
      ReferencePeer(seed: seed << 8 + UInt64(wire)).start(in: world, onWire: wire, within: Micros(3_000_000))
    }
    for peer in 0..<10 { world.setEnabled(true, peer: peer) }
    world.run(for: Micros(40_000_000))
    return world
  }

  private let sharing = Array(0..<8)

  private func decide(_ peer: Int, song: Double, ahead: Double = 0, in world: LinkWorld) {
    world.edit(peer) { state, now in
      let beat = (state.timeline.beats(at: now).value + ahead).rounded(.up)
      state.setSongLine(
        SongLine(sessionBeat: Beats(beat), songBeat: Beats(song), beatsPerBar: 4, beatType: 4))
    }
  }

  /// The song's present beat at a peer.
  private func songBeat(_ peer: Int, _ world: LinkWorld) -> Double? {
    let state = world.peers[peer].snapshot.state
    guard let line = state.songLine else { return nil }
    return (line.songBeat + state.timeline.beats(at: world.host(of: peer)) - line.sessionBeat).value
  }

  private func sessionBeat(_ peer: Int, _ world: LinkWorld) -> Double {
    let snapshot = world.peers[peer].snapshot
    return snapshot.sessionTimeline.beats(at: snapshot.ghost.ghost(atHost: world.host(of: peer))).value
  }

  /// Expects that these peers are at one beat of the song. Their clocks may differ by `clocks` microseconds.
  /// Then the peers differ in the song by as much as in the session, within 0.1 ms.
  private func expectOnePlace(
    _ peers: [Int], song: Double? = nil, clocks: Double = 15_000, _ world: LinkWorld, _ what: String
  ) {
    let first = peers[0]
    guard let place = songBeat(first, world) else {
      Issue.record("\(what): peer \(first) knows no line")
      return
    }
    if let song { #expect(world.peers[first].snapshot.state.songLine?.songBeat == Beats(song)) }
    let beat = Double(world.peers[first].snapshot.state.timeline.tempo.microsPerBeat)
    for peer in peers {
      guard let other = songBeat(peer, world) else {
        Issue.record("\(what): peer \(peer) knows no line")
        continue
      }
      let apart = (other - place) * beat
      let clock = (sessionBeat(peer, world) - sessionBeat(first, world)) * beat
      #expect(abs(apart - clock) < 100 && abs(clock) < clocks, "\(what): peer \(peer), \(apart) µs apart")
    }
  }

  @Test(arguments: campaign(1...8 as ClosedRange<UInt64>))
  func `2 s after a user sets the song line all machines follow it`(seed: UInt64) {
    let world = world(seed: seed)
    #expect(world.peers.allSatisfy { $0.snapshot.state.songLine == nil })
    var dice = Dice(seed: seed)
    for turn in 0..<25 {
      for _ in 0..<Int.random(in: 1...4, using: &dice) {
        let peer = sharing.randomElement(using: &dice)!
        if turn % 5 == 4 { world.edit(peer) { $0.setTempo(Double(80 + turn * 4), at: $1) } }
        decide(
          peer, song: Double(Int.random(in: 0...400, using: &dice)),
          ahead: Double.random(in: 0...16, using: &dice), in: world)
        world.run(for: Micros(Int64.random(in: 0...300_000, using: &dice)))
      }
      world.run(for: Micros(2_000_000))
      expectOnePlace(sharing, world, "seed \(seed), turn \(turn)")
    }
    #expect(world.peers[8...].allSatisfy { $0.snapshot.state.songLine == nil })
    #expect(world.peers.allSatisfy { $0.machine.counters.implausible == 0 })
  }

  @Test(arguments: campaign(1...6 as ClosedRange<UInt64>))
  func `if two users set the song line at once, all agree within a second`(seed: UInt64) {
    let world = world(seed: seed, loss: 0)
    for turn in 1...20 {
      // The two machines are on different networks.
      decide(turn % 4 * 2, song: Double(turn), in: world)
      decide(turn % 3 * 2 + 1, song: 100, in: world)
      world.run(for: Micros(1_000_000))
      expectOnePlace(sharing, world, "seed \(seed), turn \(turn)")
    }
  }

  @Test(arguments: campaign(1...6 as ClosedRange<UInt64>))
  func `a machine that leaves, dies or returns does not move the song`(seed: UInt64) {
    let world = world(seed: seed)
    decide(3, song: 48, in: world)
    world.run(for: Micros(2_000_000))
    var decisions: [UInt64] = []
    func check(without gone: Int, _ what: String) {
      let others = sharing.filter { $0 != gone }
      expectOnePlace(others, song: 48, world, "seed \(seed), \(what)")
      for peer in others {
        #expect(world.peers[peer].snapshot.state.songDecision == decisions[peer], "\(what), peer \(peer)")
      }
    }
    // Machine 3 has set the song line. Machine 4 returns with everything forgotten, machine 5 with its old
    // state.
    for (peer, leaves) in [(3, true), (4, false)] {
      decisions = world.peers.map(\.snapshot.state.songDecision)
      if leaves { world.setEnabled(false, peer: peer) } else { world.kill(peer) }
      world.run(for: Micros(10_000_000))
      check(without: peer, "without \(peer)")
      if leaves {
        world.setEnabled(true, peer: peer)
      } else {
        world.reboot(peer, tempo: 90)
        world.handle(.enableSongSync(true), by: peer)
      }
      world.run(for: Micros(20_000_000))
      check(without: peer, "with \(peer) again")
      expectOnePlace(sharing, song: 48, clocks: 30_000, world, "seed \(seed), all with \(peer)")
    }
    world.setCable(false, of: 5)
    world.run(for: Micros(3_000_000))
    decide(1, song: 96, in: world)
    world.run(for: Micros(3_000_000))
    world.setCable(true, of: 5)
    world.run(for: Micros(2_000_000))
    expectOnePlace(sharing, song: 96, clocks: 30_000, world, "seed \(seed), after a short cut")
  }

  @Test func `the last machine keeps the song's place for a restarted machine`() {
    let world = LinkWorld(seed: 9)
    for peer in 0...1 {
      world.plug(world.addPeer(host: Micros(Int64(peer) * 5_000_000)))
      world.handle(.enableSongSync(true), by: peer)
      world.setEnabled(true, peer: peer)
    }
    world.run(for: Micros(5_000_000))
    decide(1, song: 30, in: world)
    world.run(for: Micros(1_000_000))
    for gone in [1, 0] {
      world.kill(gone)
      world.run(for: Micros(20_000_000))
      world.reboot(gone, tempo: 100)
      world.handle(.enableSongSync(true), by: gone)
      world.run(for: Micros(10_000_000))
      expectOnePlace([0, 1], song: 30, world, "after a restart of \(gone)")
    }
  }

  @Test func `a song line is sent only with song sync and after a user has set it`() {
    let world = world(seed: 11)
    var speakers: Set<Int> = []
    world.onSend = { packet, sender, _, channel in
      guard channel == .discovery, let message = packet.withUnsafeBytes({ try? decodeDiscovery($0) }) else {
        return
      }
      switch message {
      case .alive(let state, _), .response(let state, _):
        if state.song != nil { speakers.insert(world.interfaces[sender].peer) }
      case .byeBye: return
      }
    }
    world.run(for: Micros(5_000_000))
    #expect(speakers.isEmpty)
    decide(2, song: 1, in: world)
    world.run(for: Micros(5_000_000))
    #expect(speakers == Set(sharing))
    for peer in sharing { world.handle(.enableSongSync(false), by: peer) }
    speakers = []
    world.run(for: Micros(5_000_000))
    #expect(speakers.isEmpty && world.disagreementOfReferences == nil)
  }

  /// The second room is four beats later in the session, and so in the song.
  @Test(arguments: [0, 4])
  func `rooms joined over the Internet are at one place of the song`(distance: Int) {
    let world = LinkWorld(seed: 12)
    for room in 0...1 {
      world.plug(world.addPeer(partsPerMillion: Double(room) * 20, isRelay: true), intoSegment: 2 * room)
    }
    for room in [0, 0, 1, 1] { world.plug(world.addPeer(), intoSegment: 2 * room) }
    var wire = FarConditions()
    (wire.there, wire.back, wire.jitter, wire.loss) = (Micros(60_000), Micros(60_000), Micros(9_000), 0.02)
    world.join(0, 1, bySegment: 8, wire)
    world.interfaces[world.peers[0].interfaces[1]].distance = Beats(Double(distance))
    for peer in 0...5 {
      world.handle(.enableSongSync(true), by: peer)
      world.setEnabled(true, peer: peer)
    }
    world.run(for: Micros(60_000_000))
    for (turn, peer) in [2, 5, 0, 4].enumerated() {
      decide(peer, song: Double(turn) * 16, in: world)
      world.run(for: Micros(2_000_000))
      expectOnePlace([0, 2, 3], song: Double(turn) * 16, world, "first room, turn \(turn)")
      expectOnePlace([1, 4, 5], song: Double(turn) * 16, world, "second room, turn \(turn)")
      let apart = (songBeat(0, world) ?? -99) - (songBeat(1, world) ?? 99)
      #expect(abs(apart - Double(distance)) < 0.004, "turn \(turn): \(apart) beats")
    }
  }

  /// A line that is set before the two machines are in one session belongs to the session that one of them
  /// leaves.
  @Test(arguments: campaign(1...3 as ClosedRange<UInt64>))
  func `a song line set from the moment at which two machines meet is kept`(seed: UInt64) {
    var conditions = NetworkConditions()
    (conditions.delay, conditions.jitter, conditions.loss) = (Micros(1_000), Micros(2_000), 0.15)
    var count = 0
    for turn in 0..<30 {
      let world = LinkWorld(seed: seed << 8 + UInt64(turn), conditions: conditions)
      for peer in 0...1 {
        world.plug(world.addPeer(host: Micros(Int64(peer) * 5_000_000)))
        world.handle(.enableSongSync(true), by: peer)
      }
      world.setEnabled(true, peer: 0)
      world.run(for: Micros(3_000_000))
      world.setEnabled(true, peer: 1)
      world.run(for: Micros(600_000 + Int64(turn / 2) * 100_000))
      guard world.peers[0].snapshot.session == world.peers[1].snapshot.session else { continue }
      count += 1
      decide(turn % 2, song: 30, in: world)
      world.run(for: Micros(2_000_000))
      expectOnePlace([0, 1], song: 30, world, "seed \(seed), turn \(turn)")
    }
    #expect(count > 10)
  }
}
