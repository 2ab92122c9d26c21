// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import ControlSurface
import JACKHost
import TactusOSC

/// Lines about peers' channels. Strangers choose the names, and the lines go to the terminal and the journal.
enum ChannelNews {
  static func presence(_ name: String, _ isThere: Bool) -> String {
    "Link Audio: \(printable(name, limit: 200)) \(isThere ? "is here" : "has gone")"
  }

  static func crowd(_ crowd: ConnectionPool) -> String {
    let peer = printable(crowd.peer, limit: 150)
    let count = crowd.leftOut == 1 ? "1 channel" : "\(crowd.leftOut) channels"
    return "Link Audio: \(AudioChannelPorts.limit) channels are received; no place is left for "
      + (crowd.hasPlaces ? "\(count) of \(peer)" : "\(peer) (\(count))")
  }

  /// A peer with channels that find no place.
  struct ConnectionPool: Equatable {
    let peer: String
    let leftOut: Int
    let hasPlaces: Bool
  }
}

extension ChannelPlaces {
  /// The peers that find no place first.
  var crowds: [ChannelNews.ConnectionPool] {
    let placed = Set(places.compactMap(\.channel))
    let peers = Set(offered.filter { placed.contains($0.id) }.map(\.peer))
    let groups = Dictionary(grouping: leftOut, by: \.peer).map { peer, channels in
      ChannelNews.ConnectionPool(
        peer: channels[0].peerName, leftOut: channels.count, hasPlaces: peers.contains(peer))
    }
    return groups.sorted {
      $0.hasPlaces == $1.hasPlaces ? NaturalOrder.precedes($0.peer, $1.peer) : $1.hasPlaces
    }
  }
}

/// Lines about channels that come and go. Peers can cause any number of them, so they are limited. A channel
/// that got no line gets one later, if its state then still differs from the last line.
struct ChannelPresence {
  static let linesAtOnce = Double(AudioChannelPorts.limit)
  static let linesPerMinute = 6.0

  private var said: [String: Bool] = [:]
  /// How many of each peer's channels were said to find no place.
  private var saidCrowds: [String: Int] = [:]
  private var pace: TokenBucket?

  mutating func lines(
    _ now: [(name: String, isThere: Bool)], crowds: [ChannelNews.ConnectionPool] = [], at time: Micros
  ) -> [String] {
    var turns =
      pace ?? TokenBucket(perSecond: Self.linesPerMinute / 60, capacity: Self.linesAtOnce, at: time)
    defer { pace = turns }
    let before = said
    said = [:]
    var lines: [String] = now.compactMap { name, isThere in
      let old = before[name] ?? false
      let isSaid = old != isThere && turns.trySpend(at: time)
      said[name] = isSaid ? isThere : old
      return isSaid ? ChannelNews.presence(name, isThere) : nil
    }
    let saidBefore = saidCrowds
    saidCrowds = [:]
    for crowd in crowds {
      let old = saidBefore[crowd.peer] ?? 0
      let isSaid = crowd.leftOut > 2 * old && turns.trySpend(at: time)
      if isSaid { lines.append(ChannelNews.crowd(crowd)) }
      if isSaid || old > 0 { saidCrowds[crowd.peer] = isSaid ? crowd.leftOut : old }
    }
    return lines
  }
}

/// Limits how often a new list of channels is applied, however often a peer changes its own; the newest list
/// counts.
struct OfferPace {
  static let pause = Micros(250_000)

  private var next = Micros.zero

  mutating func next<News>(at now: Micros, _ news: () -> News?) -> News? {
    guard now >= next, let found = news() else { return nil }
    next = now + Self.pause
    return found
  }
}
