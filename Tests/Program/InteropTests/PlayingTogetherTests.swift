// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

@Suite struct PlayingTogetherTests {
  enum Company: CaseIterable {
    case reference, linkHut, both, bothAndAnotherOfUs

    var others: [LabPeer.Kind] {
      switch self {
      case .reference: [.reference]
      case .linkHut: [.linkhut]
      case .both: [.reference, .linkhut]
      case .bothAndAnotherOfUs: [.reference, .linkhut, Interop.ours]
      }
    }
  }

  @Test(arguments: Company.allCases)
  func `tempo, start and stop of each peer reach all others`(company: Company) async throws {
    let stage = try await LabStage()
    let everyone = try ([Interop.ours] + company.others).map { try LabPeer($0, in: stage) }
    for peer in everyone {
      try await peer.ask("sync on")
      try await peer.ask("enable on")
    }
    for peer in everyone { try await peer.wait("peers", "\(everyone.count - 1)") }
    for (index, peer) in everyone.enumerated() {
      try await peer.ask("tempo \(121 + index)")
      for other in everyone { try await other.wait("tempo", "\(121 + index)") }
    }
    for peer in everyone {
      try await peer.ask("play")
      for other in everyone { try await other.wait("playing", "true") }
      try await peer.ask("stop")
      for other in everyone { try await other.wait("playing", "false") }
    }
    for peer in everyone.dropFirst() {
      let distance = try await peer.phaseDistance(to: everyone[0])
      #expect(abs(distance) < peer.tolerance(with: everyone[0], tempo: 130))
    }
  }

  /// The song line (a beat of the session, and the beat of the song there) is an entry that only tactus adds
  /// to Link's datagrams. Other implementations of Link must skip it.
  @Test func `LinkHut and the reference library ignore tactus's entry "song line"`() async throws {
    let stage = try await LabStage()
    let ours = try (0..<2).map { _ in try LabPeer(Interop.ours, in: stage) }
    let everyone = ours + (try [.linkhut, .reference].map { try LabPeer($0, in: stage) })
    for peer in ours { try await peer.ask("song on") }
    for peer in everyone {
      try await peer.ask("sync on")
      try await peer.ask("enable on")
    }
    for peer in everyone { try await peer.wait("peers", "3") }
    for (index, peer) in everyone.enumerated() {
      try await ours[index % 2].ask("locate \(16 * index)")
      for other in ours { try await other.wait("song_line", "\(16 * index)") }
      try await peer.ask("tempo \(121 + index)")
      try await peer.ask("play")
      for other in everyone {
        try await other.wait("tempo", "\(121 + index)")
        try await other.wait("playing", "true")
      }
      try await peer.ask("stop")
      for other in everyone { try await other.wait("playing", "false") }
    }
    for peer in everyone {
      #expect(try await peer.ask("peers")["peers"]?.number == 3)
      let distance = try await peer.phaseDistance(to: everyone[0])
      #expect(abs(distance) < peer.tolerance(with: everyone[0], tempo: 130))
    }
  }

  @Test func `a peer without start/stop sync neither follows nor stops the others`() async throws {
    let stage = try await LabStage("--no-server")
    let we = try LabPeer(Interop.ours, in: stage)
    let they = try (0..<2).map { _ in try LabPeer(.reference, in: stage) }
    for peer in they { try await peer.ask("sync on") }
    for peer in they + [we] { try await peer.ask("enable on") }
    for peer in they + [we] { try await peer.wait("peers", "2") }
    try await they[0].ask("play")
    try await they[1].wait("playing", "true")
    try await Task.sleep(for: .milliseconds(300))
    #expect(try await !we.status().isPlaying)
    try await we.ask("play")
    try await we.ask("stop")
    try await Task.sleep(for: .milliseconds(300))
    #expect(try await they[0].status().isPlaying)
  }

  @Test func `tempos of 20, 133.7 and 999 BPM arrive at a peer as they were set`() async throws {
    let stage = try await LabStage("--no-server")
    let we = try LabPeer(Interop.ours, in: stage)
    let they = try LabPeer(.reference, in: stage)
    for peer in [we, they] { try await peer.ask("enable on") }
    for peer in [we, they] { try await peer.wait("peers", "1") }
    for tempo in ["20", "133.7", "999"] {
      try await we.ask("tempo \(tempo)")
      try await they.wait("tempo", tempo)
      try await they.ask("tempo 120")
      try await we.wait("tempo", "120")
    }
    let instant = try await PeerStatus(we.ask("clock")).time + 1_000_000
    try await we.ask("force 8 \(instant)")
    try await Task.sleep(for: .milliseconds(300))
    let phase = try await PeerStatus(they.ask("beat \(instant)")).phase
    #expect(abs(Interop.distance(phase, 0)) < 0.002)
  }
}
