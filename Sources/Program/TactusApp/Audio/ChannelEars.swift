// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAudio
import LinkAudioLanes
import LinkWire

/// Receives silent channels for a short time, a few at once, to find those that have begun to sound.
/// [control]
struct ChannelEars {
  private struct Ear {
    let lane: ReceiveLane
    let source: LinkAudio.Source
  }

  /// Sampling one stereo channel costs about half a percent of a core.
  private static let count = 2

  private var ears: [Ear] = []
  /// The channels that were received in this round. When every channel has been received once, a new round
  /// starts.
  private var sampled: Set<ChannelID> = []

  /// Receives the next channels until the next call. Returns those channels of the previous call that
  /// sounded.
  mutating func listen(to channels: [ChannelID], _ audio: LinkAudio) -> [ChannelID] {
    let sounding = ears.filter { $0.lane.hasSounded }.map(\.source.node)
    ears = []
    var next = channels.filter { !sampled.contains($0) }
    if next.isEmpty { (next, sampled) = (channels, []) }
    for channel in next.prefix(Self.count) {
      sampled.insert(channel)
      let lane = ReceiveLane.probe()
      guard let source = audio.subscribe(lane, to: channel) else { continue }
      ears.append(Ear(lane: lane, source: source))
    }
    return sounding
  }
}
