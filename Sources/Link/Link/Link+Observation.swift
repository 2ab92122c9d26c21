// SPDX-License-Identifier: GPL-2.0-or-later
package import LinkSession
import Synchronization

extension Link {
  /// The values of a session that a program shows.
  public struct Status: Hashable, Sendable, Codable, CustomStringConvertible {
    /// The session's tempo in BPM. A peer's tempo has whole microseconds per beat, so it is off by up to
    /// some thousandths; round it to show it.
    public var tempo: Double
    /// Whether this program plays, or will play from the time of the start on.
    public var isPlaying: Bool
    /// The number of other peers in the session.
    public var peerCount: Int
    /// Whether Link is enabled and there is another peer.
    public var isConnected: Bool

    package init(_ snapshot: SessionSnapshot) {
      tempo = snapshot.state.tempo
      isPlaying = snapshot.state.isPlaying
      peerCount = snapshot.peerCount
      isConnected = snapshot.isEnabled && snapshot.peerCount > 0
    }

    /// The values as text, like "120.0 BPM, playing, 2 peers".
    public var description: String {
      "\(tempo) BPM, \(isPlaying ? "playing" : "stopped"), \(peerCount) peer\(peerCount == 1 ? "" : "s")"
    }
  }

  /// A stream of the status: first the present status, then each change. Of statuses that were not read yet,
  /// the stream keeps only the newest.
  ///
  /// Each call returns a new stream. A stream does not keep its `Link` alive, and ends with that `Link`.
  ///
  /// Thread-safe: yes. Real-time-safe: no.
  public func updates() -> AsyncStream<Status> {
    network.withEngine { engine, now in
      engine.collectAudioChanges(at: now)
      return network.audience.status.stream(from: Status(engine.snapshot)) { $0 }
    }
  }
}

// Callbacks. Link's own thread calls them, without a lock, and only for changes that come after the callback
// was set.
extension Link {
  /// Sets the callback for changes of the session's tempo, in BPM; nil removes it. A peer's tempo has whole
  /// microseconds per beat, so it is off by up to some thousandths; round it to show it.
  ///
  /// When this returns, no call of the former callback runs, unless the callback itself makes this call. So
  /// do not hold a lock for which the former callback waits. A callback should be short: the network waits
  /// for it. A callback may call every function of Link. Of more than 64 waiting changes, only the newest of
  /// each kind is delivered. No callback comes after the release of the `Link`.
  ///
  /// Thread-safe: yes. Real-time-safe: no, it may wait.
  public func onTempo(_ body: (@Sendable (_ beatsPerMinute: Double) -> Void)?) {
    network.audience.tempo.setCallback(body)
  }

  /// Sets the callback for starts and stops of this program. They come from its own commits and, with
  /// start/stop sync, from a peer's. The rules are those of ``onTempo(_:)``.
  ///
  /// Thread-safe: yes. Real-time-safe: no, it may wait.
  public func onStartStop(_ body: (@Sendable (_ isPlaying: Bool) -> Void)?) {
    network.audience.startStop.setCallback(body)
  }

  /// Sets the callback for changes of the number of other peers in the session. The rules are those of
  /// ``onTempo(_:)``.
  ///
  /// Thread-safe: yes. Real-time-safe: no, it may wait.
  public func onPeers(_ body: (@Sendable (_ count: Int) -> Void)?) {
    network.audience.peers.setCallback(body)
  }

  /// Sets the callback for the first peer that comes and the last peer that goes. Disabling Link also counts
  /// as the loss of the last peer. The rules are those of ``onTempo(_:)``.
  ///
  /// Thread-safe: yes. Real-time-safe: no, it may wait.
  public func onConnection(_ body: (@Sendable (_ isConnected: Bool) -> Void)?) {
    network.audience.connection.setCallback(body)
  }
}
