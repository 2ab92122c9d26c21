// SPDX-License-Identifier: GPL-2.0-or-later
package import BeatMath
internal import LinkWire

/// The protocol's own numbers (facts: link-audio 3).
enum AudioRules {
  static var announcementPeriod: Micros { Micros(250_000) }
  static var announcementSpacing: Micros { Micros(50_000) }
  /// How long an announcement holds.
  static var lifetime: Micros { Micros(5_000_000) }
  /// How long a subscription is served beyond its time to live.
  static var expiryGrace: Micros { Micros(1_000_000) }
  /// Number of round trips that are kept.
  static var roundTrips: Int { 10 }
}

/// Our own limits, beyond the protocol. No network, however hostile, can make the machine grow, stall or
/// flood others. Anything over a limit is dropped and counted in `AudioCounters`.
package enum AudioLimits {
  package static var gateways: Int { 32 }
  /// Routes to peers: each peer counts once for each gateway that sees it.
  package static var receivers: Int { 512 }
  /// Limit for one host. A studio computer runs a few programs, each under a few ids.
  package static var receiversPerAddress: Int { 64 }
  /// The most endpoints that we keep for one peer at one gateway: the known endpoint, and another one to
  /// which the peer may have moved.
  package static var waysPerPeer: Int { 2 }
  /// If `receivers` is full, a newcomer replaces a receiver that has not answered for this time.
  package static var crowdedExpiry: Micros { Micros(1_000_000) }
  /// Channels of all other peers together.
  package static var channels: Int { 1024 }
  package static var channelsPerPeer: Int { 256 }
  /// Our own channels (sinks), and the channels that we receive (sources).
  package static var sinks: Int { 128 }
  package static var sources: Int { 128 }
  /// Subscriptions of all sources together; each has a lane with memory of its own.
  package static var lanes: Int { 256 }
  /// Subscribers of one sink, and of all sinks together: 50 MB a second if all are stereo at 48 kHz.
  package static var subscribersPerSink: Int { 32 }
  package static var subscribers: Int { 256 }
  /// Longest subscription that we accept, whatever its time to live.
  package static var longestLease: Micros { Micros(31_000_000) }

  /// After an answer, an endpoint counts as its peer's for this time.
  package static var proof: Micros { Micros(5_000_000) }
  /// An endpoint that answered within this time has not moved: we ignore claims of the opposite and any rival
  /// endpoint.
  package static var answering: Micros { Micros(1_000_000) }
  /// Pings to one endpoint that can still be answered.
  package static var outstandingPings: Int { 8 }
  /// An endpoint that has not answered gets `firstPings` pings at `firstSpacing`, more until `eagerPings` at
  /// the announcement period, then one every `patientPingSpacing`. An endpoint that has just answered gets
  /// its first announcements at `firstSpacing`, too: one may be lost, and a user waits for sound.
  package static var firstPings: Int { 5 }
  package static var firstAnnouncements: Int { 2 }
  package static var firstSpacing: Micros { Micros(100_000) }
  package static var eagerPings: Int { 20 }
  package static var patientPingSpacing: Micros { Micros(1_000_000) }
  /// Pings to endpoints that have not answered, per second and gateway. It bounds what we send to forged
  /// peers. First pings to newcomers have a second allowance of the same size.
  package static var pingsToStrangersPerSecond: Int { 400 }
  /// Pongs to unknown senders, per second and gateway.
  package static var pongsToStrangersPerSecond: Int { 200 }
  /// Messages that we accept in a second, except audio: from one endpoint, and from all together.
  package static var messagesPerSecond: Int { 1_000 }
  package static var allMessagesPerSecond: Int { 20_000 }
  /// Announcements among these messages. One can list ninety channels; 128 channels with the longest names
  /// need 136 announcements a second.
  package static var announcementsPerSecond: Int { 200 }
  package static var allAnnouncementsPerSecond: Int { 4_000 }

  /// Until audio arrives, a request is repeated at the eager spacing this many times, then at the patient
  /// spacing, because its sender may have no audio.
  package static var eagerRequests: Int { 20 }
  package static var eagerRequestSpacing: Micros { Micros(150_000) }
  package static var patientRequestSpacing: Micros { Micros(1_000_000) }
  /// Interval of requests while audio arrives: four requests in the five seconds for which the reference
  /// remembers one. The reference sends one in this time, and a lost one costs its user four seconds of
  /// silence.
  package static var requestPeriod: Micros { Micros(1_250_000) }
  /// If a peer's channel stays silent for this time and as many requests, the peer may need our placeholder.
  /// A peer that sends to listeners without channels does so within a tenth of a second.
  static var placeholderDelay: Micros { Micros(700_000) }
  static var placeholderRequests: Int { 2 }
  /// A peer forgets a channel of ours within this time after its bye.
  static var placeholderMemory: Micros { Micros(6_000_000) }
  /// If no audio arrives for this time, we request it again. Peers may stall for a tenth of a second.
  package static var silence: Micros { Micros(400_000) }
  /// Least time between two lists of channels that we emit.
  package static var listSpacing: Micros { Micros(50_000) }
  /// Another route to a peer is used if it is better by this factor.
  package static var betterWay: Double { 2 }
  /// Outputs that wait if the caller does not take them.
  package static var outputs: Int { 4096 }
}

/// Counts what was dropped, and why. None of these is an error of ours. The counters wrap.
public struct AudioCounters: Hashable, Sendable, BitwiseCopyable {
  /// Datagrams of all kinds, audio included.
  public var received: UInt64 = 0
  /// Refused by `LinkWire`.
  public var malformed: UInt64 = 0
  /// Datagrams with our own id.
  public var own: UInt64 = 0
  /// Datagrams on a gateway that is not open, or received while disabled.
  public var closedGateway: UInt64 = 0
  /// Datagrams from an endpoint that belongs to no peer of our session, or that carry another peer's id.
  public var unknownSender: UInt64 = 0
  /// Messages from an endpoint that has not answered us yet.
  public var unproven: UInt64 = 0
  /// Pongs that answer no outstanding ping to that endpoint.
  public var strayPongs: UInt64 = 0
  /// Announcements or byes that contain another peer's channel id.
  public var copiedChannels: UInt64 = 0
  /// New names that were not valid UTF-8; they are shown with U+FFFD for each unreadable part.
  public var repairedNames: UInt64 = 0
  /// Gateways, peers, channels, sinks, sources or subscribers over the limits.
  public var crowdedOut: UInt64 = 0
  /// Messages over `messagesPerSecond` or the three limits after it.
  public var flooded: UInt64 = 0
  /// Pings and pongs to unproven endpoints that were not sent because the gateway's allowance was used up.
  public var unanswered: UInt64 = 0
  /// Requests for a channel that we do not have.
  public var unknownSinks: UInt64 = 0
  /// Audio that no source subscribed to; most of it arrives late after a release.
  public var unwantedAudio: UInt64 = 0
  /// Audio of a source's channel from an endpoint that did not announce the channel.
  public var forgedAudio: UInt64 = 0
  /// Audio whose beats belong to another session.
  public var foreignAudio: UInt64 = 0
  /// Datagrams of audio delivered to a source.
  public var audio: UInt64 = 0
  /// Outputs dropped because the caller had not taken earlier ones.
  public var outputsDropped: UInt64 = 0
  /// Times when the host clock went back, or when we were run later than we had asked.
  public var clockSteps: UInt64 = 0

  init() {}
}

/// How full the tables are.
public struct AudioLoad: Hashable, Sendable {
  /// Routes to peers.
  public var receivers: Int
  /// Channels of other peers.
  public var channels: Int
  /// Our own channels.
  public var sinks: Int
  /// Channels that we receive.
  public var sources: Int
  /// Subscribers of our channels; a peer counts once for each channel.
  public var subscribers: Int
}

extension LinkAudioSession {
  package var load: AudioLoad {
    AudioLoad(
      receivers: receivers.count, channels: channels.count, sinks: sinks.count,
      sources: sources.count { $0 != nil }, subscribers: subscriberCount)
  }
}
