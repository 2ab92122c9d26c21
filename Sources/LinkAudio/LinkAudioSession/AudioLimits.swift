// SPDX-License-Identifier: GPL-2.0-or-later
package import LinkBeatMath
internal import LinkWire

/// The protocol's own numbers (facts: link-audio 3).
enum AudioRules {
  static var announcementPeriod: Micros { Micros(250_000) }
  static var announcementSpacing: Micros { Micros(50_000) }
  /// The time for which an announcement is valid.
  static var lifetime: Micros { Micros(5_000_000) }
  /// The time for which a subscription is served beyond three times its time to live
  /// (`LinkAudioSession.subscribe`).
  static var expiryGrace: Micros { Micros(1_000_000) }
  /// The number of round trips that are remembered for each route.
  static var roundTrips: Int { 10 }
}

/// Our own limits, beyond the protocol. With them no network, however hostile, can make our session grow,
/// stall or flood other hosts. Anything over a limit is dropped and counted in `AudioCounters`.
package enum AudioLimits {
  package static var gateways: Int { 32 }
  /// The most routes to peers. A peer counts once for each gateway on which it is seen.
  package static var receivers: Int { 512 }
  /// The most routes to one host. A studio computer runs a few programs, each of them with a few ids.
  package static var receiversPerAddress: Int { 64 }
  /// The most endpoints that we keep for one peer at one gateway: the known endpoint, and another one to
  /// which the peer may have moved.
  package static var waysPerPeer: Int { 2 }
  /// If there are as many routes as `receivers` allows, a new route replaces one that was added longer ago
  /// than this time and is still unproven.
  package static var crowdedExpiry: Micros { Micros(1_000_000) }
  /// The most channels of all other peers together, and of one peer.
  package static var channels: Int { 1024 }
  package static var channelsPerPeer: Int { 256 }
  /// `sinks`: the most channels of our own. `sources`: the most channels that we receive.
  package static var sinks: Int { 128 }
  package static var sources: Int { 128 }
  /// The most subscriptions of all sources together. Each has a lane with memory of its own.
  package static var lanes: Int { 256 }
  /// The most subscribers of one sink, and of all sinks. We send 50 MB a second to them if all sinks are
  /// stereo at 48 kHz.
  package static var subscribersPerSink: Int { 32 }
  package static var subscribers: Int { 256 }
  /// The longest time for which one request keeps a subscription, whatever its time to live.
  package static var longestLease: Micros { Micros(31_000_000) }

  /// The time after an answer for which an endpoint counts as belonging to its peer.
  package static var proof: Micros { Micros(5_000_000) }
  /// If a peer's endpoint answered within this time, the peer has not moved to another endpoint. We ignore
  /// claims that it has moved, and any rival endpoint.
  package static var answering: Micros { Micros(1_000_000) }
  /// The most pings to one endpoint whose answers we still accept.
  package static var outstandingPings: Int { 8 }
  /// An endpoint that has not answered gets `firstPings` pings at `firstSpacing`. Then it gets pings at the
  /// announcement period, up to `eagerPings` in all, and after these one ping every `patientPingSpacing`. An
  /// endpoint that has just answered gets its first announcements at `firstSpacing`, too, because one of them
  /// may be lost and a user waits for sound.
  package static var firstPings: Int { 5 }
  package static var firstAnnouncements: Int { 2 }
  package static var firstSpacing: Micros { Micros(100_000) }
  package static var eagerPings: Int { 20 }
  package static var patientPingSpacing: Micros { Micros(1_000_000) }
  /// The most pings per second and gateway to endpoints that have not answered. This limits what we send to
  /// endpoints of invented peers. First pings to new endpoints have a separate limit of the same size.
  package static var pingsToStrangersPerSecond: Int { 400 }
  /// The most pongs to unknown senders, per second and gateway.
  package static var pongsToStrangersPerSecond: Int { 200 }
  /// The most messages that we accept in a second, not counting audio: from one endpoint, and from all
  /// endpoints together.
  package static var messagesPerSecond: Int { 1_000 }
  package static var allMessagesPerSecond: Int { 20_000 }
  /// The most announcements among these messages. An announcement can list ninety channels. A peer with 128
  /// channels that have the longest names needs 136 announcements a second.
  package static var announcementsPerSecond: Int { 200 }
  package static var allAnnouncementsPerSecond: Int { 4_000 }

  /// Until audio arrives, a request is repeated `eagerRequests` times at the eager spacing, and then at the
  /// patient spacing, because the peer may have no audio to send.
  package static var eagerRequests: Int { 20 }
  package static var eagerRequestSpacing: Micros { Micros(150_000) }
  package static var patientRequestSpacing: Micros { Micros(1_000_000) }
  /// The interval of requests while audio arrives: four requests in the five seconds for which the reference
  /// remembers a request. The reference sends only one request in five seconds, so a lost request costs its
  /// user four seconds of silence.
  package static var requestPeriod: Micros { Micros(1_250_000) }
  /// If a peer's channel brings no audio for the time `placeholderDelay` and after `placeholderRequests`
  /// requests, the peer may need our placeholder. A peer that sends to listeners without channels does so
  /// within a tenth of a second.
  static var placeholderDelay: Micros { Micros(700_000) }
  static var placeholderRequests: Int { 2 }
  /// The time after our bye for a channel within which a peer forgets this channel.
  static var placeholderMemory: Micros { Micros(6_000_000) }
  /// If no audio arrives for this time, we request the channel again. The time is longer than the tenth of a
  /// second for which peers may stall.
  package static var silence: Micros { Micros(400_000) }
  /// The least time between two lists of channels that we emit.
  package static var listSpacing: Micros { Micros(50_000) }
  /// We change to another route to a peer only if that route is better by this factor.
  package static var betterWay: Double { 2 }
  /// The most outputs that wait for the caller to take them.
  package static var outputs: Int { 4096 }
}

/// Counts the datagrams and requests that were dropped, by reason. None of these is an error of ours. The
/// counters wrap.
public struct AudioCounters: Hashable, Sendable, BitwiseCopyable {
  /// The number of received datagrams of all kinds, audio included.
  public var received: UInt64 = 0
  /// The number of datagrams that `LinkWire` refused: broken, or not Link Audio's.
  public var malformed: UInt64 = 0
  /// The number of datagrams with our own id as the sender.
  public var own: UInt64 = 0
  /// The number of datagrams that came through a gateway that is not open, or while Link Audio was disabled.
  public var closedGateway: UInt64 = 0
  /// The number of datagrams from an endpoint that belongs to no peer of our session, or with another id than
  /// that of the endpoint's peer.
  public var unknownSender: UInt64 = 0
  /// The number of messages from endpoints that had not answered us yet.
  public var unproven: UInt64 = 0
  /// The number of pongs that match no ping to their endpoint that still waits for its pong.
  public var strayPongs: UInt64 = 0
  /// The number of channel ids in announcements or byes that belong to another peer's channel.
  public var copiedChannels: UInt64 = 0
  /// The number of new names that were not valid UTF-8. Each unreadable part is shown as U+FFFD.
  public var repairedNames: UInt64 = 0
  /// The number of gateways, peers, channels, sinks, sources or subscribers that were refused because of a
  /// limit.
  public var crowdedOut: UInt64 = 0
  /// The number of messages that exceeded `messagesPerSecond` or one of the three limits after it in
  /// `AudioLimits`.
  public var flooded: UInt64 = 0
  /// The number of pings and pongs to unproven endpoints that were not sent, because the gateway's limit was
  /// reached.
  public var unanswered: UInt64 = 0
  /// The number of requests for a channel that we do not have.
  public var unknownSinks: UInt64 = 0
  /// The number of datagrams of audio of a channel that we do not receive. Most of them arrive shortly after
  /// a source was released.
  public var unwantedAudio: UInt64 = 0
  /// The number of datagrams of audio from an endpoint that did not announce their channel.
  public var forgedAudio: UInt64 = 0
  /// The number of datagrams of audio that are stamped with another session's beats.
  public var foreignAudio: UInt64 = 0
  /// The number of datagrams of audio that were delivered to a source.
  public var audio: UInt64 = 0
  /// The number of outputs that were dropped, because the caller had not taken earlier outputs.
  public var outputsDropped: UInt64 = 0
  /// The number of times that the host clock went back, or that we were called more than a second later than
  /// we had asked for.
  public var clockSteps: UInt64 = 0

  init() {}
}

/// The number of entries in each table.
public struct AudioLoad: Hashable, Sendable {
  /// The number of routes to peers.
  public var receivers: Int
  /// The number of channels of other peers.
  public var channels: Int
  /// The number of our own channels.
  public var sinks: Int
  /// The number of channels that we receive.
  public var sources: Int
  /// The number of subscribers of our channels. A peer counts once for each channel to which it subscribes.
  public var subscribers: Int
}

extension LinkAudioSession {
  package var load: AudioLoad {
    AudioLoad(
      receivers: receivers.count, channels: channels.count, sinks: sinks.count,
      sources: sources.count { $0 != nil }, subscribers: subscriberCount)
  }
}
