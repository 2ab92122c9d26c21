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

  static func crowd(_ name: String) -> String {
    "Link Audio: \(AudioChannelPorts.limit) channels are received, there is no place for "
      + printable(name, limit: 150)
  }
}

/// Lines about channels that come and go. Peers can cause any number of them, so they are limited. A channel
/// that got no line gets one later, if its state then still differs from the last line.
struct ChannelPresence {
  static let linesAtOnce = Double(AudioChannelPorts.limit)
  static let linesPerMinute = 6.0

  private var said: [String: Bool] = [:]
  /// Whether a line has said that a channel found no place.
  private var isCrowdSaid = false
  private var pace: TokenBucket?

  /// - Parameter crowdedOut: the first channel that found no place.
  mutating func lines(
    _ now: [(name: String, isThere: Bool)], crowdedOut: String? = nil, at time: Micros
  ) -> [String] {
    var turns =
      pace ?? TokenBucket(perSecond: Self.linesPerMinute / 60, capacity: Self.linesAtOnce, at: time)
    defer { pace = turns }
    let before = said
    said = [:]
    var lines: [String] = now.compactMap { name, isThere in
      let old = before[name] ?? false
      let isSaid = old != isThere && turns.take(at: time)
      said[name] = isSaid ? isThere : old
      return isSaid ? ChannelNews.presence(name, isThere) : nil
    }
    if let crowdedOut, !isCrowdSaid, turns.take(at: time) {
      isCrowdSaid = true
      lines.append(ChannelNews.crowd(crowdedOut))
    }
    isCrowdSaid = isCrowdSaid && crowdedOut != nil
    return lines
  }
}

/// Limits how often a new list of channels is applied, however often a peer changes its own; the newest list
/// counts.
struct OfferPace {
  static let pause = Micros(250_000)

  private var next = Micros.zero

  mutating func take<News>(at now: Micros, _ news: () -> News?) -> News? {
    guard now >= next, let found = news() else { return nil }
    next = now + Self.pause
    return found
  }
}
