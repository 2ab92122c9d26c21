// SPDX-License-Identifier: GPL-2.0-or-later
internal import LinkAddresses
internal import LinkBeatMath
internal import LinkWire

/// The channels of other peers, as these peers announced them.
///
/// A channel belongs to the peer that announced it first, as long as that peer keeps announcing it. Channel
/// ids are public: a peer that announces a copied id gets nothing.
struct Channels: Sendable {
  struct Way: Sendable {
    let route: AudioRoute
    var until: Micros
  }

  struct Known: Sendable {
    var name: String
    let peer: NodeID
    var session: SessionID
    /// The routes over which the channel was announced.
    var ways: [Way]
  }

  enum News {
    case nothing, changed, copied, refused
    /// The channel is new, or its name has changed.
    case renamed(PeersName)
  }

  private var known: [ChannelID: Known] = [:]
  private var counts: [NodeID: Int] = [:]
  /// A time before which no announcement expires.
  private(set) var nextExpiry: Micros?

  var count: Int { known.count }

  subscript(id: ChannelID) -> Known? { known[id] }

  mutating func receive(
    _ listed: ListedChannel, of peer: NodeID, in session: SessionID, at route: AudioRoute, until: Micros
  ) -> News {
    if nextExpiry == nil { nextExpiry = until }
    guard var channel = known[listed.channel] else {
      guard known.count < AudioLimits.channels, counts[peer, default: 0] < AudioLimits.channelsPerPeer
      else { return .refused }
      counts[peer, default: 0] += 1
      let name = PeersName(listed.name)
      known[listed.channel] = Known(
        name: name.text, peer: peer, session: session, ways: [Way(route: route, until: until)])
      return .renamed(name)
    }
    guard channel.peer == peer else { return .copied }
    var isNews = channel.session != session
    channel.session = session
    if let way = channel.ways.firstIndex(where: { $0.route == route }) {
      channel.ways[way].until = until
    } else {
      channel.ways.append(Way(route: route, until: until))
      isNews = true
    }
    let name = PeersName(listed.name, after: channel.name)
    if let name { channel.name = name.text }
    known[listed.channel] = channel
    if let name { return .renamed(name) }
    return isNews ? .changed : .nothing
  }

  /// Handles a bye from the channel's peer. The bye ends the channel on this route only.
  mutating func takeBye(_ id: ChannelID, of peer: NodeID, at route: AudioRoute) -> News {
    guard let channel = known[id] else { return .nothing }
    guard channel.peer == peer else { return .copied }
    guard channel.ways.contains(where: { $0.route == route }) else { return .nothing }
    remove(id) { $0 == route }
    return .changed
  }

  mutating func remove(_ route: AudioRoute, of peer: NodeID) {
    for (id, channel) in known where channel.peer == peer { remove(id) { $0 == route } }
  }

  mutating func remove(of peer: NodeID) {
    for (id, channel) in known where channel.peer == peer { remove(id) { _ in true } }
  }

  mutating func remove(where isGone: (AudioRoute) -> Bool) {
    for id in known.keys { remove(id, where: isGone) }
  }

  private mutating func remove(_ id: ChannelID, where isGone: (AudioRoute) -> Bool) {
    guard var channel = known[id] else { return }
    channel.ways.removeAll { isGone($0.route) }
    guard channel.ways.isEmpty else {
      known[id] = channel
      return
    }
    known[id] = nil
    let left = counts[channel.peer, default: 1] - 1
    counts[channel.peer] = left > 0 ? left : nil
  }

  /// Removes the routes whose last announcement has expired. Returns whether there were any.
  mutating func expire(at now: Micros) -> Bool {
    guard let nextExpiry, nextExpiry <= now else { return false }
    var hasGone = false
    var earliest: Micros?
    for (id, channel) in known {
      let over = channel.ways.filter { $0.until <= now }
      for way in channel.ways where way.until > now { earliest = min(earliest ?? way.until, way.until) }
      guard !over.isEmpty else { continue }
      hasGone = true
      remove(id) { route in over.contains { $0.route == route } }
    }
    self.nextExpiry = earliest
    return hasGone
  }

  /// Returns the channels of one session. Their `peerName` is left empty.
  func all(in session: SessionID) -> [AudioChannel] {
    known.compactMap { id, channel in
      channel.session == session
        ? AudioChannel(id: id, name: channel.name, peer: channel.peer, peerName: "") : nil
    }
  }
}

extension LinkAudioSession {
  /// Notes that channels have changed. The sources then look for their senders, and a new list is emitted
  /// when `listSpacing` allows it.
  mutating func noteChannels() {
    areSendersDue = true
    if listDue == nil {
      listDue = listTold.map { max(uptime.now, $0 + AudioLimits.listSpacing) } ?? uptime.now
    }
  }

  mutating func tellChannels() {
    guard let listDue, listDue <= uptime.now else { return }
    self.listDue = nil
    var names: [NodeID: String] = [:]
    for receiver in receivers where !receiver.name.isEmpty { names[receiver.node] = receiver.name }
    var list = channels.all(in: session)
    for place in list.indices { list[place].peerName = names[list[place].peer] ?? "" }
    list.sort { ($0.peerName, $0.name, $0.id) < ($1.peerName, $1.name, $1.id) }
    guard list != listed else { return }
    listed = list
    listTold = uptime.now
    emit(.channels(list))
  }
}
