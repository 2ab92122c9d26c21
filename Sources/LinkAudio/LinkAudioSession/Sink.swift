// SPDX-License-Identifier: GPL-2.0-or-later
internal import LinkAddresses
package import LinkBeatMath
package import LinkWire

/// A channel of ours, and its subscribers.
struct Sink: Sendable {
  struct Subscriber: Sendable {
    let peer: NodeID
    var until: Micros
  }

  let id: ChannelID
  var name: String
  var subscribers: [Subscriber] = []
  /// The routes in the last `.routes` output.
  var routes: [AudioRoute] = []

  var nextExpiry: Micros? { subscribers.min { $0.until < $1.until }?.until }

  /// Removes expired subscriptions. Returns whether there were any.
  mutating func expire(at now: Micros) -> Bool {
    let before = subscribers.count
    subscribers.removeAll { $0.until <= now }
    return subscribers.count != before
  }
}

extension LinkAudioSession {
  var subscriberCount: Int { sinks.reduce(0) { $0 + $1.subscribers.count } }

  /// Opens a channel of ours; this is possible also while we are disabled. Returns nil if we have too many
  /// channels. The name is cut after 256 bytes. Take the outputs afterwards, as after `handle`.
  package mutating func addSink(named name: String, at now: Micros) -> ChannelID? {
    advance(to: now)
    defer { settle() }
    guard sinks.count < AudioLimits.sinks else {
      counters.crowdedOut &+= 1
      return nil
    }
    let id = NodeID(using: &dice)
    sinks.append(Sink(id: id, name: name.cutToName))
    announceToAll()
    return id
  }

  /// Take the outputs afterwards, as after `handle`.
  package mutating func renameSink(_ id: ChannelID, to name: String, at now: Micros) {
    advance(to: now)
    guard let place = sinks.firstIndex(where: { $0.id == id }) else { return }
    sinks[place].name = name.cutToName
    announceToAll()
    settle()
  }

  /// Closes the channel and sends its bye at once. Take the outputs afterwards, as after `handle`.
  package mutating func removeSink(_ id: ChannelID, at now: Micros) {
    advance(to: now)
    guard let place = sinks.firstIndex(where: { $0.id == id }) else { return }
    let sink = sinks.remove(at: place)
    if sinks.isEmpty { sinksRemoved = uptime.now }
    if !sink.routes.isEmpty { emit(.routes([], of: id)) }
    for receiver in receivers { sayByes([id], to: receiver) }
    settle()
  }

  /// Adds or renews a subscription. The reference requests every five seconds for five seconds, so that one
  /// lost request would cost its user four seconds of silence. We keep sending until the third request in a
  /// row is overdue, if the peer still answers our pings.
  mutating func subscribe(_ peer: NodeID, to channel: ChannelID, ttl: UInt8) {
    guard channel != placeholder?.id else { return }
    guard let place = sinks.firstIndex(where: { $0.id == channel }) else {
      counters.unknownSinks &+= 1
      return
    }
    guard ttl > 0 else { return unsubscribe(peer, from: channel) }
    let lease = min(
      Micros(Int64(ttl) * 3_000_000) + AudioRules.expiryGrace, AudioLimits.longestLease)
    let until = uptime.now + lease
    if let known = sinks[place].subscribers.firstIndex(where: { $0.peer == peer }) {
      sinks[place].subscribers[known].until = until
      return
    }
    guard sinks[place].subscribers.count < AudioLimits.subscribersPerSink,
      subscriberCount < AudioLimits.subscribers
    else {
      counters.crowdedOut &+= 1
      return
    }
    sinks[place].subscribers.append(Sink.Subscriber(peer: peer, until: until))
    areRoutesDue = true
  }

  mutating func unsubscribe(_ peer: NodeID, from channel: ChannelID) {
    guard let place = sinks.firstIndex(where: { $0.id == channel }) else { return }
    sinks[place].subscribers.removeAll { $0.peer == peer }
    areRoutesDue = true
  }

  /// Emits each sink's routes if they changed: those to the subscribers that are in our session and have a
  /// proven endpoint.
  mutating func refreshRoutes() {
    for place in sinks.indices {
      let routes = sinks[place].subscribers.compactMap { subscriber in
        way(to: subscriber.peer).map { receivers[$0].route }
      }.sorted()
      guard routes != sinks[place].routes else { continue }
      sinks[place].routes = routes
      emit(.routes(routes, of: sinks[place].id))
    }
  }
}
