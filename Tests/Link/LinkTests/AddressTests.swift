// SPDX-License-Identifier: GPL-2.0-or-later
import Link
import LinkBeatMath
import TactusTestSupport
import Testing

/// Addresses that appear and disappear while a peer runs.
@Suite(.enabled(if: Lab.isHere, "needs tools/lab --no-server"))
struct AddressTests {
  let network: PrivateNetwork

  init() throws {
    network = try PrivateNetwork()
  }

  @Test func `without a restart a new address is used and a lost address dropped`() throws {
    let link = try network.link(tempo: 120)
    link.isEnabled = true
    #expect(eventually { link.diagnostics.addresses == ["127.0.0.1"] })
    // On a network that lets multicast through, Link receives its own datagrams.
    #expect(
      eventually {
        let diagnostics = link.diagnostics
        return diagnostics.failure == nil && diagnostics.sent > 0 && diagnostics.ownHeard > 0
      })
    try network.ip("addr", "add", "10.99.0.1/24", "dev", "lo")
    let added = Link.clock()
    #expect(eventually { link.diagnostics.addresses == ["10.99.0.1", "127.0.0.1"] })
    // The kernel announces the new address; the regular scan alone would take up to five seconds.
    #expect(Link.clock() - added < Micros(2_500_000))
    try network.ip("addr", "del", "10.99.0.1/24", "dev", "lo")
    #expect(eventually { link.diagnostics.addresses == ["127.0.0.1"] })
  }

  @Test func `an interface that goes down comes back with its peers`() throws {
    let link = try network.link(tempo: 120)
    let other = try network.link(tempo: 120)
    link.isEnabled = true
    other.isEnabled = true
    #expect(eventually { link.peerCount == 1 && other.peerCount == 1 })
    #expect(link.diagnostics.peers == [Link.Diagnostics.PeerPlace(name: "127.0.0.1", count: 1)])
    #expect("\(link.diagnostics.peers)" == "[127.0.0.1: 1 peer]")
    try network.ip("link", "set", "lo", "down")
    let isGone = eventually { link.diagnostics.addresses.isEmpty && link.peerCount == 0 }
    try network.ip("link", "set", "lo", "up")
    #expect(isGone)
    try network.ip("route", "add", "224.0.0.0/4", "dev", "lo")
    #expect(eventually { link.peerCount == 1 && other.peerCount == 1 })
  }

  @Test func `without any address Link waits for an address`() throws {
    try network.ip("link", "set", "lo", "down")
    let link = try network.link(tempo: 120)
    link.isEnabled = true
    pause(milliseconds: 100)
    let isEmpty = link.diagnostics.addresses.isEmpty
    let isNamed = eventually { link.diagnostics.failure == .noInterface }
    try network.ip("link", "set", "lo", "up")
    try network.ip("route", "add", "224.0.0.0/4", "dev", "lo")
    #expect(isEmpty && isNamed)
    #expect(eventually { link.diagnostics.addresses == ["127.0.0.1"] && link.diagnostics.failure == nil })
    link.isEnabled = false
    #expect(eventually { link.diagnostics.addresses.isEmpty } && link.diagnostics.failure == nil)
  }
}
