// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkAudioSession
import Linux

/// How Link Audio is doing.
public struct AudioDiagnostics: Sendable {
  /// Why it is not on the network where it should be; nil is good.
  public var failure: String?
  /// How its thread has its turns on the processor.
  public var urgency: AudioUrgency
  /// The ways to the peers that take part, with round trip and jitter.
  public var peers: [AudioPeer]
  /// Datagrams that the system would not send.
  public var failedSends: Int
  /// Datagrams that came from outside of the networks that Link uses, and were not looked at.
  public var strangers: Int
  /// Chunks that found no room: their audio thread does not run.
  public var overflows: Int
  /// What was received and what was dropped.
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
