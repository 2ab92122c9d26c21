// SPDX-License-Identifier: GPL-2.0-or-later
import LinkWire
import TactusTestSupport
import Testing

@testable import Link

/// A cable between two machines with a peer on each, and faults that are shorter than a peer's memory.
@Suite(.enabled(if: Lab.isHere, "needs tools/lab --no-server"))
struct BlipTests {
  let home: PrivateNetwork, other: PrivateNetwork

  init() throws {
    (home, other) = (try PrivateNetwork(), try PrivateNetwork())
    try home.cable("wire", to: other, "cable")
    try home.ip("addr add 10.50.0.1/24 dev wire")
    try other.ip("addr add 10.50.0.2/24 dev cable")
    try home.ip("link set wire up")
    try other.ip("link set cable up")
  }

  enum Event: String, CaseIterable {
    /// The interface stays up and keeps its address, as when a radio roams or a switch port renegotiates.
    case carrierForAMoment, carrierForSeconds
    case interfaceDown
    /// The address is removed, as some network managers do while there is no carrier.
    case addressGone
  }

  func begin(_ event: Event) throws {
    switch event {
    case .carrierForAMoment, .carrierForSeconds: try other.ip("link set cable down")
    case .interfaceDown: try home.ip("link set wire down")
    case .addressGone: try home.ip("addr del 10.50.0.1/24 dev wire")
    }
  }

  func end(_ event: Event) throws {
    switch event {
    case .carrierForAMoment, .carrierForSeconds: try other.ip("link set cable up")
    case .interfaceDown: try home.ip("link set wire up")
    case .addressGone: try home.ip("addr add 10.50.0.1/24 dev wire")
    }
  }

  @Test(arguments: Event.allCases)
  func `a short network fault changes no session and loses no tempo`(event: Event) throws {
    let far = try other.link(tempo: 100), link = try home.link(tempo: 120)
    link.isStartStopSyncEnabled = true
    far.isStartStopSyncEnabled = true
    #expect(connected(far, link))
    far.updateAppState { $0.setPlaying(true, at: Link.clock()) }
    #expect(eventually { link.captureAppState().isPlaying && far.captureAppState().isPlaying })
    let (before, farBefore) = (link.snapshot, far.snapshot)
    let counts = Log<Int>()
    link.onPeers { counts.append($0) }
    try begin(event)
    // Wait for the kernel's announcement and the scan that follows it. Every Link peer forgets a silent peer
    // after five seconds, so a longer outage divides the session in any case.
    pause(milliseconds: event == .carrierForAMoment ? 150 : 1_500)
    link.updateAppState { $0.setTempo(133, at: Link.clock()) }
    pause(milliseconds: event == .carrierForAMoment ? 0 : 2_500)
    try end(event)
    #expect(
      eventually(within: 10_000) { abs(far.captureAppState().tempo - 133) < 0.001 }, "the tempo set meanwhile"
    )
    // By now, the goodbye of a peer that had left would have come.
    pause(milliseconds: 500)
    #expect(link.snapshot.node == before.node && link.snapshot.session == before.session)
    #expect(far.snapshot.node == farBefore.node && far.snapshot.session == farBefore.session)
    #expect(link.captureAppState().isPlaying && far.captureAppState().isPlaying)
    #expect(abs(link.captureAppState().tempo - 133) < 0.001)
    #expect(link.peerCount == 1 && far.peerCount == 1 && counts.all == [])
  }
}
