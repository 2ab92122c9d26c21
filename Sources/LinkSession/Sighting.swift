// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import LinkWire

/// A peer as seen through one gateway.
struct Sighting {
  let gateway: GatewayID
  /// Where its last word came from; what one host may claim to be is counted by this.
  var source: Address
  var state: PeerState
  /// Its timeline in its own words, which we may not believe by our clock.
  var claim: Timeline
  /// In uptime.
  var heard: Micros
  /// Still believed for a grace after.
  var expiry: Micros
  /// In uptime. It did not answer when it was asked for its session's time, or told one that can't be: until then it is
  /// asked only if there is nobody else.
  var avoidedUntil = Micros.zero
  /// In uptime, when it said goodbye. What it had said before may be read later: answers come to another socket.
  var goodbye: Micros?
  /// Where it has answered. Anybody can write another place into a packet in its name, so that one goes as long as it answers.
  var proven: Endpoint?

  /// Where it is asked for the time, if it can be.
  var endpoint: Endpoint? { proven ?? state.measurement }
}

extension Sighting {
  func isAvoided(at now: Micros) -> Bool { avoidedUntil > now }

  /// Returns what it said until now.
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
