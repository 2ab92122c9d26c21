// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import LinkWire

/// A peer as seen through one gateway.
struct PeerRecord {
  let gateway: GatewayID
  /// The address of its last packet, for the limit of peers at one address.
  var source: Address
  var state: PeerState
  /// The timeline that it announced, even if we did not believe it.
  var claim: Timeline
  /// Uptime of the last packet.
  var heard: Micros
  /// Uptime when its time to live ends. It is kept for `Rules.expiryGrace` longer.
  var expiry: Micros
  /// Uptime until which we ask it only if there is no other peer: it did not answer, or gave an impossible
  /// time.
  var avoidedUntil = Micros.zero
  /// Uptime of its goodbye. Packets that arrived before may be read after it: Responses come to another
  /// socket.
  var goodbye: Micros?
  /// The endpoint at which it answered. We prefer it as long as it answers, since any host can announce
  /// another endpoint in the peer's name.
  var proven: Endpoint?

  /// The endpoint to ping; nil if there is none.
  var endpoint: Endpoint? { proven ?? state.measurement }
}

extension PeerRecord {
  func isAvoided(at now: Micros) -> Bool { avoidedUntil > now }

  /// Returns the former state.
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
