// SPDX-License-Identifier: GPL-2.0-or-later
internal import LinkAddresses
internal import LinkBeatMath
internal import LinkWire

// How we react to messages of peers, except audio (facts: link-audio 3.3 to 3.7).
extension LinkAudioSession {
  mutating func receive(_ datagram: AudioMessage, from route: AudioRoute, on gateway: Int) {
    guard
      let place = receivers.firstIndex(where: {
        $0.node == datagram.node && $0.route == route && isMember($0)
      })
    else {
      counters.unknownSender &+= 1
      if case .announcement(let announcement) = datagram.body, let echo = announcement.ping {
        answerStranger(echo, at: route, on: gateway)
      }
      return
    }
    guard receivers[place].messages.trySpend(at: uptime.now), messages.trySpend(at: uptime.now) else {
      counters.flooded &+= 1
      return
    }
    switch datagram.body {
    case .announcement(let announcement): receive(announcement, from: place)
    case .pong(let echo): receive(echo, from: place)
    case .byes(let ids):
      guard isProven(place) else { return }
      for index in 0..<ids.count { takeBye(ids[index], of: place) }
    case .request(let channel):
      guard isProven(place) else { return }
      subscribe(datagram.node, to: channel, ttl: datagram.timeToLive)
    case .stop(let channel):
      guard isProven(place) else { return }
      unsubscribe(datagram.node, from: channel)
    case .audio: return
    }
  }

  private mutating func isProven(_ place: Int) -> Bool {
    let isProven = receivers[place].isProven(at: uptime.now)
    if !isProven { counters.unproven &+= 1 }
    return isProven
  }

  /// Answers a ping of a peer that has found us before we have found that peer. The peer announces its
  /// channels to us only after our answer.
  private mutating func answerStranger(_ echo: AudioEcho, at route: AudioRoute, on gateway: Int) {
    guard gateways[gateway].pongs.trySpend(at: uptime.now) else {
      counters.unanswered &+= 1
      return
    }
    emit(.send(.pong(echo, from: node), to: route.endpoint, on: route.gateway))
  }

  private mutating func receive(_ announcement: AudioAnnouncement, from place: Int) {
    let receiver = receivers[place]
    if let echo = announcement.ping {
      emit(.send(.pong(echo, from: node), to: receiver.route.endpoint, on: receiver.route.gateway))
    }
    guard isProven(place) else { return }
    guard receivers[place].announcements.trySpend(at: uptime.now), announcements.trySpend(at: uptime.now)
    else {
      counters.flooded &+= 1
      return
    }
    if let name = PeersName(announcement.peerName, after: receiver.name) {
      receivers[place].name = name.text
      if name.isRepaired { counters.repairedNames &+= 1 }
      noteChannels()
    }
    let until = uptime.now + AudioRules.lifetime
    for channel in announcement.channels where !isOurs(channel.channel) {
      switch channels.receive(
        channel, of: receiver.node, in: announcement.session, at: receiver.route, until: until)
      {
      case .nothing: break
      case .changed: noteChannels()
      case .renamed(let name):
        if name.isRepaired { counters.repairedNames &+= 1 }
        noteChannels()
      case .copied: counters.copiedChannels &+= 1
      case .refused: counters.crowdedOut &+= 1
      }
    }
  }

  private mutating func takeBye(_ id: ChannelID, of place: Int) {
    switch channels.takeBye(id, of: receivers[place].node, at: receivers[place].route) {
    case .nothing, .renamed, .refused: break
    case .changed: noteChannels()
    case .copied: counters.copiedChannels &+= 1
    }
  }

  private mutating func receive(_ echo: AudioEcho, from place: Int) {
    let receiver = receivers[place]
    guard !receivers.contains(where: { $0.isRival(of: receiver) && $0.isAnswering(at: uptime.now) }) else {
      counters.unproven &+= 1
      return
    }
    switch receivers[place].receive(echo, at: uptime.now) {
    case .stray: counters.strayPongs &+= 1
    case .provenAgain: areWaysDue = true
    case .proven:
      areWaysDue = true
      // The peer has moved to this endpoint, so its former endpoints are forgotten.
      let proven = receivers[place]
      if proven.supersededUntil == nil {
        forgetReceivers {
          $0.node == proven.node && $0.supersededUntil != nil && $0.route.gateway == proven.route.gateway
        }
      }
    }
  }
}
