// SPDX-License-Identifier: GPL-2.0-or-later
internal import LinkBeatMath
package import LinkWire

// The reference's first two betas, and so all of LinkKit, send audio only to peers that announce a channel
// (facts: link-audio 7.4). If we have no channel and such a peer stays silent, we announce a placeholder to
// that peer alone: a channel that never sends audio. No other peer's list shows it.

/// Whether a peer needs our placeholder.
enum PlaceholderNeed {
  case unknown
  /// The peer has sent us audio while we announced no channel.
  case none
  /// The peer has not sent the audio that we requested. We announce the placeholder to this peer as long as
  /// we request one of its channels.
  case announced
}

extension LinkAudioSession {
  /// Our channels that are announced to this peer: our sinks, and perhaps the placeholder.
  func channels(for receiver: Receiver) -> [Sink] {
    guard receiver.placeholder == .announced, let placeholder else { return sinks }
    return sinks + [placeholder]
  }

  package func isOurs(_ channel: ChannelID) -> Bool {
    placeholder?.id == channel || sinks.contains { $0.id == channel }
  }

  /// Judges a peer by its answer to our requests for one of its channels.
  mutating func considerPlaceholder(for place: Int, of receiver: Int) {
    guard sinks.isEmpty, receivers[receiver].placeholder == .unknown, let source = sources[place] else {
      return
    }
    if source.isHeard(at: uptime.now) {
      // The peer may still remember a channel that we have closed, and may send audio only because of that
      // channel.
      guard sinksRemoved.map({ uptime.now >= $0 + AudioLimits.placeholderMemory }) ?? true else { return }
      note(.none, of: receivers[receiver].node)
    } else if source.isUnanswered(at: uptime.now) {
      if placeholder == nil { placeholder = Sink(id: NodeID(using: &dice), name: "(listens)") }
      note(.announced, of: receivers[receiver].node)
    }
  }

  private mutating func note(_ need: PlaceholderNeed, of peer: NodeID) {
    for place in receivers.indices where receivers[place].node == peer {
      receivers[place].placeholder = need
      if need == .announced { receivers[place].announceSoon(at: uptime.now) }
    }
  }

  /// Withdraws the placeholder from peers of which we request nothing any more.
  mutating func withdrawPlaceholders() {
    guard let placeholder else { return }
    for place in receivers.indices where receivers[place].placeholder == .announced {
      let peer = receivers[place].node
      let isNeeded = sources.contains { source in
        source?.asked != nil && source.flatMap { channels[$0.channel]?.peer } == peer
      }
      guard !isNeeded else { continue }
      sayByes([placeholder.id], to: receivers[place])
      receivers[place].placeholder = .unknown
    }
  }
}
