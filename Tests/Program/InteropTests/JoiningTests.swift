// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

@Suite struct JoiningTests {
  enum Pair: CaseIterable {
    case weJoinReference, referenceJoinsUs, weJoinLinkHut, linkHutJoinsUs, weJoinOurselves

    var older: LabPeer.Kind {
      switch self {
      case .weJoinReference: .reference
      case .weJoinLinkHut: .linkhut
      case .referenceJoinsUs, .linkHutJoinsUs, .weJoinOurselves: Interop.ours
      }
    }

    var newer: LabPeer.Kind {
      switch self {
      case .referenceJoinsUs: .reference
      case .linkHutJoinsUs: .linkhut
      case .weJoinReference, .weJoinLinkHut, .weJoinOurselves: Interop.ours
      }
    }
  }

  @Test(arguments: Pair.allCases)
  func `a joining peer takes the older session's tempo and beat`(
    pair: Pair
  ) async throws {
    let stage = try await LabStage()
    let older = try LabPeer(pair.older, in: stage)
    let newer = try LabPeer(pair.newer, in: stage)
    try await older.ask("tempo 117")
    try await newer.ask("tempo 123")
    try await older.found()
    try await older.ask("wait enabled on")
    let before = try await origin(of: older, tempo: 117)
    try await newer.ask("enable on")
    try await newer.wait("peers", "1")
    try await older.wait("peers", "1")
    try await newer.wait("tempo", "117")
    #expect(abs(try await older.status().tempo - 117) < 0.001)
    let after = try await origin(of: older, tempo: 117)
    #expect(abs(after - before) < older.tolerance(with: older, tempo: 117))
    var distances: [Double] = []
    for _ in 0..<5 { distances.append(try await newer.phaseDistance(to: older)) }
    #expect(abs(Interop.median(distances)) < newer.tolerance(with: older, tempo: 117), "\(distances)")
  }

  /// This peer's beat at the clock's zero, as the median of five readings, because on a busy machine LinkHut
  /// may show an old value.
  private func origin(of peer: LabPeer, tempo: Double) async throws -> Double {
    var origins: [Double] = []
    for _ in 0..<5 {
      let status = try await peer.status()
      origins.append(status.beat - Double(status.time) / 60e6 * tempo)
    }
    return Interop.median(origins)
  }

  @Test func `switching Link on and off without peers keeps tempo and beat`() async throws {
    let stage = try await LabStage("--no-server")
    let peer = try LabPeer(Interop.ours, in: stage)
    try await peer.ask("tempo 97.5")
    let before = try await peer.status()
    for state in ["on", "off", "on"] {
      try await peer.ask("enable \(state)")
      try await Task.sleep(for: .milliseconds(300))
      let after = try await peer.status()
      #expect(abs(after.tempo - 97.5) < 0.001)
      let promised = before.beat + Double(after.time - before.time) / 60e6 * before.tempo
      #expect(abs(promised - after.beat) < 0.001)
    }
  }

  @Test(arguments: [LabPeer.Kind.reference, .linkhut])
  func `a peer's leaving is noticed at once, and the peer keeps the tempo`(
    other: LabPeer.Kind
  ) async throws {
    let stage = try await LabStage()
    let we = try LabPeer(Interop.ours, in: stage)
    let they = try LabPeer(other, in: stage)
    try await they.ask("tempo 119")
    try await they.found()
    try await we.ask("enable on")
    try await we.wait("tempo", "119")
    try await they.wait("peers", "1")
    try await we.ask("enable off")
    // A goodbye arrives at once; without a goodbye, the peer would be counted for five seconds and more.
    try await they.wait("peers", "0", seconds: 3)
    #expect(abs(try await we.status().tempo - 119) < 0.001)
    #expect(try await we.status().peers == 0)
    try await we.ask("tempo 90")
    try await Task.sleep(for: LabPeer.ageThatCounts)
    try await they.ask("tempo 121")
    try await we.ask("enable on")
    try await we.wait("tempo", "121")
    try await they.wait("peers", "1")
    #expect(abs(try await they.status().tempo - 121) < 0.001)
    try await they.ask("enable off")
    try await we.wait("peers", "0", seconds: 3)
    #expect(abs(try await we.status().tempo - 121) < 0.001)
  }
}
