// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
public import LinkWire

/// Where a peer says that it takes part in Link Audio, as seen through one gateway (facts: link-audio 1). What comes of it is
/// for `LinkAudioSession`.
public struct AudioSighting: Hashable, Sendable, BitwiseCopyable {
  /// The peer that says so.
  public var node: NodeID
  /// The one that the peer is in, which may be another than ours.
  public var session: SessionID
  /// nil: it does not any more, or is gone.
  public var endpoint: Endpoint?
  /// Ours, through which it was heard; a peer on two networks is seen once on each.
  public var gateway: GatewayID

  init(_ sighting: Sighting) {
    node = sighting.state.node
    session = sighting.state.session
    endpoint = sighting.state.audio
    gateway = sighting.gateway
  }
}

extension LinkSession {
  /// The others hear of our socket at once, and no matter which of those that have one opened it.
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
