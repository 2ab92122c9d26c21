// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire

/// A peer that behaves like the reference library, with its faults (facts: link-audio 3 and 7). It announces
/// itself only when a timer fires. If a peer requests a channel before it has announced itself, the request
/// is kept without an address. It requests channels every five seconds. Whenever any channel is closed, it
/// forgets all listeners that have no channels.
struct ReferencePeer {
  struct Channel {
    let peer: NodeID
    var until: Int64
  }

  struct Entry {
    var endpoint: Endpoint?
    var until: Int64
  }

  let node: NodeID
  let session: SessionID
  let name: String
  /// The channel that this peer sends; nil for a peer that only listens.
  let channel: ChannelID?
  /// Whether this peer has the faults of version 4.0.0b1 (facts: link-audio 7.4).
  var isFirstBeta = false
  var receivers: [(node: NodeID, endpoint: Endpoint)] = []
  var channels: [ChannelID: Channel] = [:]
  var handlers: [NodeID: Endpoint] = [:]
  var requests: [ChannelID: Int64] = [:]
  var entries: [NodeID: Entry] = [:]
  var nextAnnouncement: Int64?
  /// All channels that were ever announced to this peer.
  var shown: Set<ChannelID> = []
  var out: [(packet: AudioPacket, to: Endpoint)] = []

  mutating func see(_ peer: NodeID, at endpoint: Endpoint, now: Int64) {
    if !receivers.contains(where: { $0.endpoint == endpoint }) { receivers.append((peer, endpoint)) }
    if nextAnnouncement == nil { nextAnnouncement = now }
  }

  /// Runs all timers that are due. The timer that removes expired peers is a second late.
  mutating func run(at now: Int64) {
    if let due = nextAnnouncement, due <= now {
      for receiver in receivers { out.append((announcement(at: now), receiver.endpoint)) }
      nextAnnouncement = now + 250_000
    }
    for (id, due) in requests.sorted(by: { $0.key < $1.key }) where due <= now {
      ask(for: id)
      requests[id] = now + 5_000_000
    }
    for (id, channel) in channels where channel.until + 1_000_000 <= now { forget(id) }
    entries = entries.filter { $0.value.until + 1_000_000 > now }
  }

  private func announcement(at now: Int64) -> AudioPacket {
    var text = name
    var writer = text.withUTF8 {
      AnnouncementWriter(
        from: node, in: session, named: UnsafeRawBufferPointer($0),
        ping: AudioEcho(rawValue: UInt64(bitPattern: now + 1_750_000_000_000_000)))
    }
    if let channel { _ = text.withUTF8 { writer.add(channel, named: UnsafeRawBufferPointer($0)) } }
    return writer.finish()
  }

  private mutating func ask(for id: ChannelID) {
    guard let peer = channels[id]?.peer, let endpoint = handlers[peer] else { return }
    out.append((.request(id, from: node), endpoint))
  }

  /// Forgets the channel, and with it the addresses of all peers that have no channel left.
  private mutating func forget(_ id: ChannelID) {
    channels[id] = nil
    requests[id] = nil
    let owners = Set(channels.values.map(\.peer))
    handlers = handlers.filter { owners.contains($0.key) }
    if isFirstBeta { for node in entries.keys where handlers[node] == nil { entries[node] = nil } }
  }

  /// Returns the channel if the datagram is audio of a requested channel.
  mutating func receive(_ bytes: UnsafeRawBufferPointer, from source: Endpoint, at now: Int64) -> ChannelID? {
    guard let datagram = try? decodeAudio(bytes) else { return nil }
    switch datagram.body {
    case .announcement(let announcement):
      if let echo = announcement.ping { out.append((.pong(echo, from: node), source)) }
      guard receivers.contains(where: { $0.endpoint == source }) else { return nil }
      if !isFirstBeta && handlers[datagram.node] == nil { handlers[datagram.node] = source }
      for listed in announcement.channels {
        if handlers[datagram.node] == nil { handlers[datagram.node] = source }
        shown.insert(listed.channel)
        let isNew = channels[listed.channel] == nil
        channels[listed.channel] = Channel(peer: datagram.node, until: now + 5_000_000)
        guard isNew else { continue }
        // The application subscribes to every channel that appears.
        ask(for: listed.channel)
        requests[listed.channel] = now + 5_000_000
      }
    case .byes(let ids): for index in 0..<ids.count where channels[ids[index]] != nil { forget(ids[index]) }
    case .pong: break
    case .request(let id):
      guard id == channel else { return nil }
      entries[datagram.node] = Entry(
        endpoint: handlers[datagram.node], until: now + Int64(datagram.timeToLive) * 1_000_000)
    case .stop(let id): if id == channel { entries[datagram.node] = nil }
    case .audio(let buffer): return requests[buffer.format.channel] == nil ? nil : buffer.format.channel
    }
    return nil
  }
}
