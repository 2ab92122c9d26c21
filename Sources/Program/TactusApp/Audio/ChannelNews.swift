// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusJACK
import TactusOSC
import TactusSurface

/// Lines about peers' channels. Strangers choose the channels' names, and the lines go to the terminal and
/// the journal.
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

  /// A peer that offers more channels than there are free places here.
  struct ConnectionPool: Equatable {
    let peer: String
    let leftOut: Int
    let hasPlaces: Bool
  }
}

extension ChannelPlaces {
  /// The peers whose channels do not all have ports here. Peers of which no channel has ports come first.
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

/// Lines about channels that come and go. The number of lines is limited, because peers can cause any
/// number of them. If a channel's change got no line, a later line reports it, unless the channel is then
/// back in the state that its last line reported.
struct ChannelPresence {
  static let linesAtOnce = Double(AudioChannelPorts.limit)
  static let linesPerMinute = 6.0
  static let crowdsAtOnce = 8.0

  private var said: [String: Bool] = [:]
  /// For each peer, the number of its channels without a place in the last line about that peer.
  private var saidCrowds: [String: Int] = [:]
  private var pace: TokenBucket?
  /// Lines about channels without a place have their own limit: if both kinds of lines had a common limit,
  /// the many names of a big set would use it up first.
  private var crowdPace: TokenBucket?

  mutating func lines(
    _ now: [(name: String, isThere: Bool)], crowds: [ChannelNews.ConnectionPool] = [], at time: Micros
  ) -> [String] {
    var turns = pace ?? Self.bucket(capacity: Self.linesAtOnce, at: time)
    var crowdTurns = crowdPace ?? Self.bucket(capacity: Self.crowdsAtOnce, at: time)
    defer { (pace, crowdPace) = (turns, crowdTurns) }
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
      let isSaid = crowd.leftOut > 2 * old && crowdTurns.trySpend(at: time)
      if isSaid { lines.append(ChannelNews.crowd(crowd)) }
      if isSaid || old > 0 { saidCrowds[crowd.peer] = isSaid ? crowd.leftOut : old }
    }
    return lines
  }

  private static func bucket(capacity: Double, at time: Micros) -> TokenBucket {
    TokenBucket(perSecond: linesPerMinute / 60, capacity: capacity, at: time)
  }
}

/// Limits how often a new list of channels is applied, however often a peer changes its list; only the newest
/// list is applied.
struct OfferPace {
  static let pause = Micros(250_000)

  private var next = Micros.zero

  mutating func next<News>(at now: Micros, _ news: () -> News?) -> News? {
    guard now >= next, let found = news() else { return nil }
    next = now + Self.pause
    return found
  }
}
