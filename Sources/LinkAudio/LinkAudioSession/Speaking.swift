// SPDX-License-Identifier: GPL-2.0-or-later
internal import LinkAddresses
internal import LinkBeatMath
internal import LinkWire

// The messages that we send, and when (facts: link-audio 3.2, 3.6).
extension LinkAudioSession {
  mutating func announceWhatIsDue() {
    for place in receivers.indices
    where isMember(receivers[place]) && receivers[place].nextAnnouncement <= uptime.now {
      announce(to: place)
    }
  }

  /// Announces all our channels to a proven endpoint. To an unproven endpoint, sends an announcement with
  /// only a ping. A forged datagram can name any address as a peer's endpoint: if we sent the list of a
  /// hundred channels there, an attacker could use us to flood that address.
  private mutating func announce(to place: Int) {
    let isProven = receivers[place].isProven(at: uptime.now)
    let gateway = receivers[place].route.gateway
    guard isProven || mayPing(receivers[place]) else {
      counters.unanswered &+= 1
      receivers[place].postpone(at: uptime.now)
      return
    }
    let echo = newEcho()
    let channels = isProven ? channels(for: receivers[place]) : []
    receivers[place].ping(echo, at: uptime.now)
    for packet in announcements(of: channels, ping: echo) {
      emit(.send(packet, to: receivers[place].route.endpoint, on: gateway))
    }
  }

  private mutating func mayPing(_ receiver: Receiver) -> Bool {
    guard let place = index(of: receiver.route.gateway) else { return false }
    return receiver.wasPinged
      ? gateways[place].pings.trySpend(at: uptime.now) : gateways[place].firstPings.trySpend(at: uptime.now)
  }

  /// Draws the echo for a ping. In the protocol, this entry is the sender's wall-clock time, which only the
  /// sender uses. Our entry looks like a time between 2005 and 2041, but contains 50 bits that cannot be
  /// guessed. An endpoint that returns these bits has received our ping, so we may send audio there.
  /// `Receiver` remembers when the ping left.
  private mutating func newEcho() -> AudioEcho {
    AudioEcho(rawValue: 1 << 50 | dice.next() >> 14)
  }

  /// Splits the list of our channels into as many datagrams as it needs. The first datagram has the ping.
  private func announcements(of sinks: [Sink], ping: AudioEcho) -> [AudioPacket] {
    var packets: [AudioPacket] = []
    var writer = writer(ping: ping)
    for sink in sinks where !sink.write(to: &writer) {
      packets.append(writer.finish())
      writer = self.writer(ping: nil)
      _ = sink.write(to: &writer)
    }
    return packets + [writer.finish()]
  }

  private func writer(ping: AudioEcho?) -> AnnouncementWriter {
    var name = name
    return name.withUTF8 {
      AnnouncementWriter(from: node, in: session, named: UnsafeRawBufferPointer($0), ping: ping)
    }
  }

  /// Sends byes to a receiver, if our channels were announced to it.
  mutating func sayByes(_ ids: [ChannelID], to receiver: Receiver) {
    guard isEnabled, receiver.hasOurChannels, isMember(receiver) else { return }
    var start = 0
    while start < ids.count {
      let end = min(start + Wire.maximumByes, ids.count)
      let packet = ids[start..<end].withUnsafeBufferPointer { AudioPacket.byes($0, from: node) }
      emit(.send(packet, to: receiver.route.endpoint, on: receiver.route.gateway))
      start = end
    }
  }

  /// Sends the requests that are due. The reference ignores a request from a peer that has not announced
  /// itself, so we announce ourselves first (facts: link-audio 7.1).
  mutating func request() {
    for place in sources.indices {
      guard let way = sources[place]?.asked, sources[place]?.takeTurn(at: uptime.now) == true,
        let channel = sources[place]?.channel
      else { continue }
      if let receiver = receivers.firstIndex(where: { $0.route == way && $0.isChosen }) {
        if !receivers[receiver].hasOurChannels { announce(to: receiver) }
        considerPlaceholder(for: place, of: receiver)
      }
      emit(.send(.request(channel, from: node), to: way.endpoint, on: way.gateway))
    }
  }
}

extension Sink {
  /// Adds this sink to an announcement. Returns false if there was no room.
  fileprivate func write(to writer: inout AnnouncementWriter) -> Bool {
    var name = name
    return name.withUTF8 { writer.add(id, named: UnsafeRawBufferPointer($0)) }
  }
}
