// SPDX-License-Identifier: GPL-2.0-or-later
package import BeatMath
internal import LinkWire

/// The protocol's own numbers (facts: link-audio 3).
enum AudioRules {
  static var announcementPeriod: Micros { Micros(250_000) }
  static var announcementSpacing: Micros { Micros(50_000) }
  /// How long what somebody announced holds.
  static var lifetime: Micros { Micros(5_000_000) }
  /// How long after its time to live a subscription is still served.
  static var expiryGrace: Micros { Micros(1_000_000) }
  /// Round trips that are remembered.
  static var roundTrips: Int { 10 }
}

/// What we add to the protocol so that no network, however hostile, makes the machine grow, stall, run wild or be a weapon.
/// Whatever goes over a limit is dropped and counted in `AudioCounters`.
package enum AudioLimits {
  package static var gateways: Int { 32 }
  /// Ways to peers: each peer once for each gateway through which it is seen.
  package static var receivers: Int { 512 }
  /// Of these, how many one host may claim; a studio's computer has a few programs, each under a few ids.
  package static var receiversPerAddress: Int { 64 }
  /// Sockets that one peer may be said to have behind one gateway: one, and where it moved to.
  package static var waysPerPeer: Int { 2 }
  /// When there is no room for a newcomer, who did not answer for so long has to go.
  package static var crowdedExpiry: Micros { Micros(1_000_000) }
  /// Channels of others.
  package static var channels: Int { 1024 }
  package static var channelsPerPeer: Int { 256 }
  /// Channels of our own, and how many are taken.
  package static var sinks: Int { 128 }
  package static var sources: Int { 128 }
  /// Peers that one sink is sent to, and sinks times peers: 50 MB in a second if all are stereo at 48 kHz.
  package static var subscribersPerSink: Int { 32 }
  package static var subscribers: Int { 256 }
  /// No subscription is believed for longer, whatever its time to live says.
  package static var longestLease: Micros { Micros(31_000_000) }

  /// An endpoint counts as its peer's for so long after it answered.
  package static var proof: Micros { Micros(5_000_000) }
  /// Who answered so recently is where it says: that it has moved is not believed of it, no matter who answers there.
  package static var answering: Micros { Micros(1_000_000) }
  /// Pings to one endpoint that may still be answered.
  package static var outstandingPings: Int { 8 }
  /// Who has not answered yet is asked so often at first, and ever more seldom then; who just did is told of our channels so
  /// often: one of these may be lost, and somebody waits for sound.
  package static var firstPings: Int { 5 }
  package static var firstAnnouncements: Int { 2 }
  package static var firstSpacing: Micros { Micros(100_000) }
  package static var eagerPings: Int { 20 }
  package static var patientPingSpacing: Micros { Micros(1_000_000) }
  /// Pings to those who have not answered, in a second on one gateway: a spoofed crowd is sent no more, and no list of channels.
  /// The first ones to newcomers are counted by themselves.
  package static var pingsToStrangersPerSecond: Int { 400 }
  /// Pongs to those whom we do not know, in a second on one gateway.
  package static var pongsToStrangersPerSecond: Int { 200 }
  /// What is heard of one endpoint in a second, but for audio, and of all together.
  package static var messagesPerSecond: Int { 1_000 }
  package static var allMessagesPerSecond: Int { 20_000 }
  /// Of these, announcements, which may list ninety channels each: who has 128 with the longest names needs 136.
  package static var announcementsPerSecond: Int { 200 }
  package static var allAnnouncementsPerSecond: Int { 4_000 }

  /// Requests are repeated so often until there is audio, and a few times only: its sender may have none.
  package static var eagerRequests: Int { 20 }
  package static var eagerRequestSpacing: Micros { Micros(150_000) }
  package static var patientRequestSpacing: Micros { Micros(1_000_000) }
  /// While there is audio, four times in the five seconds for which the reference remembers one: every fifth a second network
  /// loses, and a lost one of the reference's costs four seconds of silence.
  package static var requestPeriod: Micros { Micros(1_250_000) }
  /// Without audio for so long, we ask again; peers stall for a tenth of a second without meaning it.
  package static var silence: Micros { Micros(400_000) }
  /// The list of channels is told at most so often.
  package static var listSpacing: Micros { Micros(50_000) }
  /// Another way to a peer is taken if it is so many times better.
  package static var betterWay: Double { 2 }
  /// Outputs that wait when a caller does not take them.
  package static var outputs: Int { 4096 }
}

/// What was dropped, and why. Nothing in here is an error of ours. They wrap.
public struct AudioCounters: Hashable, Sendable, BitwiseCopyable {
  /// Datagrams of every kind, audio too.
  public var received: UInt64 = 0
  /// Refused by `LinkWire`.
  public var malformed: UInt64 = 0
  /// Under our own id.
  public var own: UInt64 = 0
  /// Through a gateway that is not open, or while disabled.
  public var closedGateway: UInt64 = 0
  /// From an endpoint that no peer of our session has, or in another peer's name.
  public var unknownSender: UInt64 = 0
  /// From an endpoint that has not answered us (yet).
  public var unproven: UInt64 = 0
  /// A pong that answers nothing that was sent there, or not any more.
  public var strayPongs: UInt64 = 0
  /// A channel's id in the announcement or the farewell of another peer than the channel's.
  public var copiedChannels: UInt64 = 0
  /// New names that were no UTF-8, and are shown with a sign in the place of what could not be read.
  public var repairedNames: UInt64 = 0
  /// More gateways, peers, channels, sinks, sources or subscribers than the limits allow.
  public var crowdedOut: UInt64 = 0
  /// More in a second than `messagesPerSecond` and the three limits after it.
  public var flooded: UInt64 = 0
  /// Pings and pongs to strangers that were not sent because a gateway had its fill.
  public var unanswered: UInt64 = 0
  /// A request for a channel that we do not have.
  public var unknownSinks: UInt64 = 0
  /// Audio that no source waits for: late after a release, mostly.
  public var unwantedAudio: UInt64 = 0
  /// Audio of a source's channel from elsewhere than where that was announced.
  public var forgedAudio: UInt64 = 0
  /// Audio with the beats of another session than ours.
  public var foreignAudio: UInt64 = 0
  /// Datagrams of audio that a source took.
  public var audio: UInt64 = 0
  /// What was not done because nobody took what was to be done before.
  public var outputsDropped: UInt64 = 0
  /// The host clock went back, or we were not run for longer than we asked.
  public var clockSteps: UInt64 = 0

  init() {}
}

/// How full the tables are.
public struct AudioLoad: Hashable, Sendable {
  /// Ways to peers.
  public var receivers: Int
  /// Of others.
  public var channels: Int
  /// Channels of ours.
  public var sinks: Int
  /// Channels that we take.
  public var sources: Int
  /// Peers that take our channels, each once for each channel.
  public var subscribers: Int
}

extension LinkAudioSession {
  package var load: AudioLoad {
    AudioLoad(
      receivers: receivers.count, channels: channels.count, sinks: sinks.count,
      sources: sources.count { $0 != nil }, subscribers: subscriberCount)
  }
}
