// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

@Suite struct RoughNetworkTests {
  @Test func `two sessions that meet become one, at the older one's tempo`() async throws {
    let stage = try await LabStage("--hosts", "2", "--no-server")
    try await stage.wire("cut")
    let older = [try LabPeer(Interop.ours, in: stage, on: 1), try LabPeer(.reference, in: stage, on: 1)]
    for peer in older { try await peer.ask("enable on") }
    for peer in older { try await peer.wait("peers", "1") }
    try await older[0].ask("tempo 101")
    try await older[1].wait("tempo", "101")
    try await Task.sleep(for: LabPeer.ageThatCounts)
    let newer = [try LabPeer(.reference, in: stage, on: 2), try LabPeer(Interop.ours, in: stage, on: 2)]
    for peer in newer { try await peer.ask("enable on") }
    for peer in newer { try await peer.wait("peers", "1") }
    try await newer[0].ask("tempo 89")
    try await newer[1].wait("tempo", "89")
    let before = try await PeerStatus(older[1].ask("beat"))
    try await stage.wire("heal")
    for peer in older + newer { try await peer.wait("peers", "3") }
    for peer in newer { try await peer.wait("tempo", "101") }
    let after = try await PeerStatus(older[1].ask("beat"))
    let promised = before.beat + Double(after.time - before.time) / 60e6 * after.tempo
    #expect(abs(promised - after.beat) < 0.001)
    for peer in older + newer { #expect(abs(try await peer.phaseDistance(to: older[1])) < 0.002) }
  }

  @Test func `a crashed peer is noticed in time and can return to the session`()
    async throws
  {
    let stage = try await LabStage("--no-server")
    let they = try LabPeer(.reference, in: stage)
    let unlucky = try LabPeer(Interop.ours, in: stage)
    let we = try LabPeer(Interop.ours, in: stage)
    for peer in [they, unlucky, we] { try await peer.ask("enable on") }
    for peer in [they, unlucky, we] { try await peer.wait("peers", "2") }
    try await unlucky.ask("tempo 108")
    for peer in [they, we] { try await peer.wait("tempo", "108") }
    let before = try await PeerStatus(they.ask("beat"))
    await unlucky.kill()
    for peer in [they, we] { try await peer.wait("peers", "1") }
    let again = try LabPeer(Interop.ours, in: stage)
    try await again.ask("enable on")
    try await again.wait("peers", "2")
    try await again.wait("tempo", "108")
    let after = try await PeerStatus(they.ask("beat"))
    let promised = before.beat + Double(after.time - before.time) / 60e6 * before.tempo
    #expect(abs(promised - after.beat) < 0.001)
    await they.kill()
    for peer in [again, we] { try await peer.wait("peers", "1") }
  }

  @Test func `a pulled cable splits the session, and plugging it in joins it again`()
    async throws
  {
    let stage = try await LabStage("--hosts", "2", "--no-server")
    let we = try LabPeer(Interop.ours, in: stage, on: 1)
    let they = try LabPeer(.reference, in: stage, on: 2)
    for peer in [we, they] { try await peer.ask("enable on") }
    for peer in [we, they] { try await peer.wait("peers", "1") }
    try await we.ask("tempo 111")
    try await they.wait("tempo", "111")
    let before = try await PeerStatus(we.ask("beat"))
    try await stage.wire("cut")
    for peer in [we, they] { try await peer.wait("peers", "0") }
    let after = try await PeerStatus(we.ask("beat"))
    #expect(abs(before.beat + Double(after.time - before.time) / 60e6 * 111 - after.beat) < 0.01)
    #expect(abs(try await they.status().tempo - 111) < 0.001)
    try await stage.wire("heal")
    for peer in [we, they] { try await peer.wait("peers", "1") }
    #expect(abs(try await they.phaseDistance(to: we)) < 0.002)
  }

  @Test func `over a bad wire a peer joins slowly and then agrees`() async throws {
    let stage = try await LabStage(
      "--hosts", "2", "--no-server", "--wire", "seed=5 loss=5% delay=2ms jitter=4ms duplicate=3% reorder=1%")
    let we = try LabPeer(Interop.ours, in: stage, on: 1)
    let they = try LabPeer(.reference, in: stage, on: 2)
    for peer in [we, they] { try await peer.ask("enable on") }
    for peer in [we, they] { try await peer.wait("peers", "1", seconds: 60) }
    for tempo in ["100", "141", "87"] {
      try await we.ask("tempo \(tempo)")
      try await they.wait("tempo", tempo)
    }
    try await they.ask("tempo 125")
    try await we.wait("tempo", "125")
    #expect(abs(try await they.phaseDistance(to: we)) < 0.02)
  }

  @Test func `Link finds its peers when the machine's network address changes`() async throws {
    let stage = try await LabStage("--hosts", "2", "--no-server")
    let we = try LabPeer(Interop.ours, in: stage, on: 1)
    let they = try LabPeer(.reference, in: stage, on: 2)
    #expect(try await stage.run(on: 1, "ip", "link", "set", "wire0", "down").status == 0)
    for peer in [we, they] { try await peer.ask("enable on") }
    try await Task.sleep(for: .milliseconds(500))
    #expect(try await we.status().peers == 0)
    #expect(try await stage.run(on: 1, "ip", "link", "set", "wire0", "up").status == 0)
    for peer in [we, they] { try await peer.wait("peers", "1") }
    #expect(try await stage.run(on: 1, "ip", "addr", "del", "10.77.0.1/24", "dev", "wire0").status == 0)
    #expect(try await stage.run(on: 1, "ip", "addr", "add", "10.77.0.99/24", "dev", "wire0").status == 0)
    try await Task.sleep(for: .milliseconds(6500))
    for peer in [we, they] { try await peer.wait("peers", "1") }
    try await they.ask("tempo 104")
    try await we.wait("tempo", "104")
  }
}
