// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire

/// A peer as seen through one gateway.
struct PeerRecord {
  let gateway: GatewayID
  /// The address from which the peer's last packet came, for the limit of peers at one address.
  var source: Address
  var state: PeerState
  /// The timeline that the peer announced, even if we did not believe it.
  var claim: Timeline
  /// The uptime of the peer's last packet.
  var heard: Micros
  /// The uptime when the peer's time to live ends. The record is kept for `Rules.expiryGrace` longer.
  var expiry: Micros
  /// The uptime until which we ask this peer only if there is no other peer: it did not answer, or gave an
  /// impossible time.
  var avoidedUntil = Micros.zero
  /// The uptime of the peer's goodbye. Packets that arrived before the goodbye may be read after it, because
  /// Responses come to another socket.
  var goodbye: Micros?
  /// The endpoint at which the peer answered our pings. We prefer this endpoint as long as it answers, since
  /// any host can announce another endpoint in the peer's name.
  var proven: Endpoint?

  /// The endpoint to ping; nil if there is none.
  var endpoint: Endpoint? { proven ?? state.measurement }
}

extension PeerRecord {
  func isAvoided(at now: Micros) -> Bool { avoidedUntil > now }

  /// Notes a packet of the peer. Returns the peer's former state.
  mutating func renew(
    _ claim: Timeline, from source: Address, arrived: Micros, at now: Micros, until expiry: Micros
  ) -> PeerState {
    self.claim = claim
    self.source = source
    heard = now
    if let goodbye, arrived < goodbye { return state }
    goodbye = nil
    self.expiry = expiry
    return state
  }
}
