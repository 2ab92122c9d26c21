// SPDX-License-Identifier: GPL-2.0-or-later
internal import LinkAddresses
package import LinkBeatMath
package import LinkWire

/// A channel that we receive: where its audio may come from, and when to request it again.
struct Source: Sendable {
  let channel: ChannelID
  /// The routes over which the channel was announced; empty while the channel's peer is not in our session.
  var senders: [AudioRoute] = []
  /// The route of the last request.
  var asked: AudioRoute?
  var heard: Micros?
  private var nextRequest: Micros?
  private var nextLook: Micros?
  private var tries = 0
  /// The time of the first request since the last audio.
  private var silentSince: Micros?

  init(_ channel: ChannelID) {
    self.channel = channel
  }

  var deadline: Micros? {
    guard let nextRequest else { return nil }
    return min(nextRequest, nextLook ?? nextRequest)
  }

  func isHeard(at now: Micros) -> Bool {
    heard.map { now < $0 + AudioLimits.silence } ?? false
  }

  /// Whether several requests in a row have brought no audio.
  func isUnanswered(at now: Micros) -> Bool {
    tries > AudioLimits.placeholderRequests
      && silentSince.map { now >= $0 + AudioLimits.placeholderDelay } ?? false
  }

  /// Starts over with a request now, because the first route to the peer appeared, or the route changed.
  mutating func ask(at now: Micros, over way: AudioRoute) {
    asked = way
    nextRequest = now
    tries = 0
  }

  mutating func giveUp() {
    asked = nil
    nextRequest = nil
    nextLook = nil
  }

  /// Returns whether to send a request now.
  mutating func takeTurn(at now: Micros) -> Bool {
    guard let due = nextRequest else { return false }
    let isHeard = isHeard(at: now)
    if let look = nextLook, look <= now {
      nextLook = isHeard ? now + AudioLimits.silence : nil
      // The audio has stopped since the last check.
      if !isHeard {
        tries = 0
        nextRequest = now
      }
    }
    guard due <= now || nextRequest == now else { return false }
    if isHeard {
      tries = 0
      nextRequest = now + AudioLimits.requestPeriod
      nextLook = now + AudioLimits.silence
    } else {
      tries += 1
      if tries == 1 { silentSince = now }
      nextRequest =
        now
        + (tries < AudioLimits.eagerRequests
          ? AudioLimits.eagerRequestSpacing : AudioLimits.patientRequestSpacing)
    }
    return true
  }
}

extension LinkAudioSession {
  /// Subscribes to a channel, even if it is not there yet: we request it when it appears. A second call for a
  /// channel returns the same source. Returns nil if there are too many sources. Take the outputs afterwards,
  /// as after `handle`.
  package mutating func subscribe(to channel: ChannelID, at now: Micros) -> SourceID? {
    advance(to: now)
    defer { settle() }
    if let taken = sources.firstIndex(where: { $0?.channel == channel }) { return SourceID(rawValue: taken) }
    let free: Int
    if let place = sources.firstIndex(where: { $0 == nil }) {
      free = place
    } else if sources.count < AudioLimits.sources {
      sources.append(nil)
      free = sources.count - 1
    } else {
      counters.crowdedOut &+= 1
      return nil
    }
    sources[free] = Source(channel)
    areSendersDue = true
    return SourceID(rawValue: free)
  }

  /// Releases a source. Take the outputs afterwards, as after `handle`.
  package mutating func release(_ id: SourceID, at now: Micros) {
    advance(to: now)
    guard sources.indices.contains(id.rawValue) else { return }
    stop(id.rawValue)
    sources[id.rawValue] = nil
    settle()
  }

  /// The channel that a source receives.
  package func channel(of id: SourceID) -> ChannelID? {
    sources.indices.contains(id.rawValue) ? sources[id.rawValue]?.channel : nil
  }

  mutating func stop(_ place: Int) {
    guard let source = sources[place], let way = source.asked else { return }
    sources[place]?.giveUp()
    emit(.send(.stop(source.channel, from: node), to: way.endpoint, on: way.gateway))
  }

  /// Finds the source of an audio datagram. A source accepts audio of its channel only from an endpoint that
  /// announced the channel, and only with stamps in our session's beats.
  ///
  /// This function runs for each audio datagram. So it does not allocate, and searches nothing but the few
  /// sources.
  mutating func accept(_ buffer: AudioBuffer, from route: AudioRoute) -> (
    source: SourceID, buffer: AudioBuffer
  )? {
    for place in sources.indices {
      guard let source = sources[place], source.channel == buffer.format.channel else { continue }
      guard source.senders.contains(route) else {
        counters.forgedAudio &+= 1
        return nil
      }
      sources[place]?.heard = uptime.now
      guard buffer.format.session == session else {
        counters.foreignAudio &+= 1
        return nil
      }
      counters.audio &+= 1
      return (SourceID(rawValue: place), buffer)
    }
    counters.unwantedAudio &+= 1
    return nil
  }

  /// Finds each source's senders, and the route for its requests.
  mutating func refreshSenders() {
    for place in sources.indices {
      guard let source = sources[place] else { continue }
      let channel = channels[source.channel].flatMap { $0.session == session ? $0 : nil }
      let senders = channel?.ways.map(\.route).sorted() ?? []
      if senders != source.senders {
        sources[place]?.senders = senders
        emit(.senders(senders, of: SourceID(rawValue: place)))
      }
      guard let peer = channel?.peer, let receiver = way(to: peer) else {
        sources[place]?.giveUp()
        continue
      }
      let way = receivers[receiver].route
      if way != source.asked { sources[place]?.ask(at: uptime.now, over: way) }
    }
  }
}
