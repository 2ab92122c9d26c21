// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
public import LinkWire

// A peer announces its audio socket in its Alives and Responses (facts: link-audio 1). `LinkAudioSession`
// uses these announcements.

/// A peer's announcement of Link Audio, as seen through one gateway.
public struct AudioSighting: Hashable, Sendable, BitwiseCopyable {
  /// The announcing peer.
  public var node: NodeID
  /// The session of that peer, which may differ from ours.
  public var session: SessionID
  /// The peer's audio socket; nil: the peer has left Link Audio, or is gone.
  public var endpoint: Endpoint?
  /// Our gateway that received the announcement. A peer on two networks has an `AudioSighting` on each
  /// network.
  public var gateway: GatewayID

  init(_ sighting: PeerRecord) {
    node = sighting.state.node
    session = sighting.state.session
    endpoint = sighting.state.audio
    gateway = sighting.gateway
  }
}

extension LinkSession {
  /// Announces our audio socket at once. When our socket opens, all known audio peers of the gateway are
  /// reported as outputs.
  mutating func setAudioSocket(_ endpoint: Endpoint?, on id: GatewayID) {
    guard let place = index(of: id), gateways[place].audio != endpoint else { return }
    let wasOpen = gateways[place].audio != nil
    gateways[place].audio = endpoint
    gateways[place].encoded = nil
    announce(on: place)
    guard endpoint != nil, !wasOpen else { return }
    _ = peers.takeAudioNews()
    for sighting in peers.audioSightings(on: id) { emit(.audioPeer(sighting)) }
  }

  mutating func tellAudioPeers() {
    for sighting in peers.takeAudioNews()
    where gateways.contains(where: { $0.gateway.id == sighting.gateway && $0.audio != nil }) {
      emit(.audioPeer(sighting))
    }
  }
}
