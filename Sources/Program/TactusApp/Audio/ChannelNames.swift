// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAudioSession
import LinkBeatMath
import LinkWire

/// Gives each channel of a peer a unique name, PEER/CHANNEL. If two channels would get the same name, the
/// later one is called PEER 2/CHANNEL.
///
/// A restarted program comes back under a new id while its old channel has not timed out yet. The new channel
/// gets the plain name as soon as the old one goes. Two programs that run side by side keep their names.
struct ChannelNames {
  struct Named: Equatable {
    let name: String
    let id: ChannelID
    let peer: NodeID
    /// The peer's part of `name`.
    let peerName: String
    /// Whether the channel has the name that mixers give their master output, the sum of all channels.
    let isMain: Bool
  }

  private struct Known {
    let base: String
    var name: String
    let since: Micros
  }

  /// How long a channel with a number can still get the plain name. Link gives up a silent peer after five to
  /// six seconds.
  private static let reuseTime = Micros(10_000_000)

  private struct Base: Hashable {
    let peer: String
    let channel: String

    var name: String { "\(peer)/\(channel)" }
    func name(_ number: Int) -> String { number == 1 ? name : "\(peer) \(number)/\(channel)" }
  }

  private var known: [ChannelID: Known] = [:]
  /// The number of names tried since the start, in the search for free names.
  private(set) var tries = 0

  mutating func names(of offered: [AudioChannel], at now: Micros) -> [Named] {
    let present = Set(offered.map(\.id))
    let gone = known.keys.filter { !present.contains($0) }
    for id in gone { known[id] = nil }
    var used = Set(known.values.map(\.name))
    let waiting = gone.isEmpty ? [] : known.sorted { $0.value.since < $1.value.since }
    for (id, one) in waiting
    where one.name != one.base && now - one.since < Self.reuseTime && used.insert(one.base).inserted {
      known[id]?.name = one.base
      used.remove(one.name)
    }
    // A peer can offer hundreds of channels with the same name: each search continues at the number where the
    // search for the channel before ended.
    var tried: [Base: Int] = [:]
    return offered.map { channel in
      let base = Base(peer: channel.peerName, channel: channel.name)
      if let same = known[channel.id], same.base == base.name {
        return Named(channel, as: same.name)
      }
      var number = tried[base] ?? 0
      var name: String
      repeat {
        number += 1
        tries += 1
        name = base.name(number)
      } while !used.insert(name).inserted
      tried[base] = number
      known[channel.id] = Known(base: base.name, name: name, since: now)
      return Named(channel, as: name)
    }
  }
}

extension ChannelNames.Named {
  init(_ channel: AudioChannel, as name: String) {
    self.init(
      name: name, id: channel.id, peer: channel.peer,
      peerName: String(decoding: name.utf8.dropLast(channel.name.utf8.count + 1), as: UTF8.self),
      isMain: ["Main", "Master"].contains(channel.name))
  }
}
