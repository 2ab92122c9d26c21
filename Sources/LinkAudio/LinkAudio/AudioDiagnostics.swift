// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkAudioSession
import LinkSystem

/// The state of Link Audio.
public struct AudioDiagnostics: Sendable {
  /// Why it is not on the network although it should be; nil if it is.
  public var failure: String?
  /// How its thread is scheduled.
  public var urgency: AudioUrgency
  /// The peers that take part, with the round trip and jitter of the route to each.
  public var peers: [AudioPeer]
  /// Datagrams that the system refused to send.
  public var failedSends: Int
  /// Datagrams from outside the networks that Link uses; they are ignored.
  public var strangers: Int
  /// Chunks dropped because the lane was full: its audio thread is not running.
  public var overflows: Int
  /// Counts of received and of dropped datagrams.
  public var counters: AudioCounters
  /// How full the tables are.
  public var load: AudioLoad

  init(
    _ engine: borrowing AudioEngine, _ failure: SystemFailure?, _ urgency: AudioUrgency, failedSends: Int
  ) {
    self.urgency = urgency
    self.failure = (failure ?? engine.failure)?.description
    peers = engine.machine.peers
    self.failedSends = failedSends
    strangers = engine.strangers
    overflows = engine.overflows
    counters = engine.machine.counters
    load = engine.machine.load
  }
}
