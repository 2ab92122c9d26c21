// SPDX-License-Identifier: GPL-2.0-or-later
public import Link
package import LinkAudioSession
internal import LinkBeatMath
internal import LinkSystem

extension LinkAudio {
  /// The state of Link Audio, for a user who hears nothing.
  public struct Diagnostics: Hashable, Sendable, CustomStringConvertible {
    /// The reason why Link Audio is not on the network although it should be; nil if there is no such
    /// failure.
    public var failure: Link.Failure?
    /// How Link Audio's thread is scheduled.
    public var scheduling: Scheduling
    /// The peers that take part in Link Audio.
    public var peers: [Peer]
    /// The number of datagrams that the system refused to send.
    public var failedSends: Int
    /// The number of datagrams from outside the networks that Link uses. They are ignored.
    public var strangers: Int
    /// The number of datagrams of audio that were dropped because the channel's lane was full. A lane is full
    /// if the audio thread that plays the channel is not running.
    public var overflows: Int
    /// The number of received datagrams.
    public var received: Int { Int(clamping: counters.received) }
    /// The number of received datagrams that were broken, or were not datagrams of Link Audio.
    public var malformed: Int { Int(clamping: counters.malformed) }
    /// All counts of received and of dropped datagrams.
    package var counters: AudioCounters
    /// The number of entries in each table.
    package var load: AudioLoad

    init(
      _ engine: borrowing AudioEngine, _ failure: SystemFailure?, _ scheduling: Scheduling, failedSends: Int
    ) {
      self.scheduling = scheduling
      self.failure = (failure ?? engine.failure).map { Link.Failure($0) }
      peers = engine.machine.peers.map { Peer($0) }
      self.failedSends = failedSends
      strangers = engine.strangers
      overflows = engine.overflows
      counters = engine.machine.counters
      load = engine.machine.load
    }

    /// The main values as text, like "2 peers; received 1200, malformed 0".
    public var description: String {
      let place = failure.map { "\($0); " } ?? ""
      return "\(place)\(peers.count) peer\(peers.count == 1 ? "" : "s"); "
        + "received \(received), malformed \(malformed)"
    }

    /// A peer that takes part in Link Audio, whether it sends audio or not.
    public struct Peer: Hashable, Sendable, CustomStringConvertible {
      /// The peer's name; empty until the peer has announced a name.
      public var name: String
      /// The time for a datagram to the peer and back.
      public var roundTrip: Duration
      /// The standard deviation of the round trip, plus up to 10 ms until ten round trips are known.
      public var jitter: Duration

      init(_ peer: AudioPeer) {
        name = peer.name
        roundTrip = Duration(milliseconds: peer.metrics.roundTrip / 1000)
        jitter = Duration(milliseconds: peer.metrics.jitter / 1000)
      }

      /// The name and the round trip as text, like "Rack: 0.0012 seconds".
      ///
      /// Thread-safe: yes. Real-time-safe: no.
      public var description: String { "\(name): \(roundTrip)" }
    }
  }

  /// How Link Audio's thread is scheduled.
  public enum Scheduling: Hashable, Sendable {
    /// In real time: before all normal threads, after those of JACK and PipeWire.
    case realTime
    /// With the normal priority: the system does not permit real time, or the user started the program in
    /// another scheduling class.
    case ordinary
    /// With the normal priority for at least a second: the thread has used up its budget for real time.
    case slowed
  }
}
