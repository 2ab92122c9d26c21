// SPDX-License-Identifier: GPL-2.0-or-later
package import LinkBeatMath

extension Link {
  /// A program's view of the session at one moment, which the program queries, edits and then commits.
  ///
  /// A plain value: keep and copy as many as you like, one copy for each thread. A quantum is a length in
  /// beats; a quantum of 0 means no grid.
  ///
  /// Impossible arguments change nothing: a tempo or beat that is not a number, a beat beyond 5,000,000,000,
  /// an instant six hundred years away.
  public struct SessionState: Hashable, Sendable, BitwiseCopyable, CustomStringConvertible {
    package var value: LinkBeatMath.SessionState

    @_noLocks @_noAllocation
    package init(_ value: LinkBeatMath.SessionState) {
      self.value = value
    }

    /// The tempo in BPM. A peer's tempo has whole microseconds per beat, so it is off by up to some
    /// thousandths; round it to show it.
    ///
    /// Thread-safe: yes. Real-time-safe: yes.
    public var tempo: Double {
      @_noLocks @_noAllocation get { value.tempo }
    }

    /// Whether there were peers at the capture; ``requestBeat(_:at:quantum:)`` depends on it.
    ///
    /// Thread-safe: yes. Real-time-safe: yes.
    public var isConnected: Bool {
      @_noLocks @_noAllocation get { value.isConnected }
    }

    /// Whether this program plays, or will play from ``timeOfPlaying`` on.
    ///
    /// Thread-safe: yes. Real-time-safe: yes.
    public var isPlaying: Bool {
      @_noLocks @_noAllocation get { value.isPlaying }
    }

    /// The instant of the start or stop, in the future or the past.
    ///
    /// Thread-safe: yes. Real-time-safe: yes.
    public var timeOfPlaying: Instant {
      @_noLocks @_noAllocation get { Instant(value.timeOfPlaying) }
    }

    /// Returns the beat at an instant. The beat's number is this program's own; its phase within the quantum
    /// is the session's.
    ///
    /// - Parameters:
    ///   - time: When the beat is heard.
    ///   - quantum: The length, in beats, that all peers with this quantum have in common; 0 for no grid.
    ///
    /// Thread-safe: yes. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public func beat(at time: Instant, quantum: Double) -> Double {
      value.beat(at: time.micros, quantum: quantum)
    }

    /// Returns the position within the quantum at an instant, in 0 ..< quantum, also before beat 0.
    ///
    /// - Parameters:
    ///   - time: When the beat is heard.
    ///   - quantum: The length of the grid in beats; with 0 the result is 0.
    ///
    /// Thread-safe: yes. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public func phase(at time: Instant, quantum: Double) -> Double {
      value.phase(at: time.micros, quantum: quantum)
    }

    /// Returns the instant of a beat: the inverse of ``beat(at:quantum:)``, as long as the tempo stays.
    ///
    /// - Parameters:
    ///   - beat: A beat in this program's numbers.
    ///   - quantum: The length of the grid in beats; 0 for no grid.
    ///
    /// Thread-safe: yes. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public func time(atBeat beat: Double, quantum: Double) -> Instant {
      Instant(value.time(atBeat: beat, quantum: quantum))
    }

    /// Sets the tempo for all peers. The beat at `time` stays.
    ///
    /// - Parameters:
    ///   - beatsPerMinute: The tempo, clamped to 20...999 BPM.
    ///   - time: The instant from which the tempo holds.
    ///
    /// Thread-safe: yes. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public mutating func setTempo(_ beatsPerMinute: Double, at time: Instant) {
      value.setTempo(beatsPerMinute, at: time.micros)
    }

    /// Requests a beat at an instant. Without peers, the beat comes at that instant. With peers, the beat
    /// comes at the next instant with its phase.
    ///
    /// - Parameters:
    ///   - beat: The beat to be heard, in this program's numbers.
    ///   - time: The earliest instant for the beat.
    ///   - quantum: The length of the grid in beats; 0 for no grid.
    ///
    /// Thread-safe: yes. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public mutating func requestBeat(_ beat: Double, at time: Instant, quantum: Double) {
      value.requestBeat(beat, at: time.micros, quantum: quantum)
    }

    /// Forces a beat at an instant and moves the grid of all peers. Use this only to follow an external
    /// clock.
    ///
    /// - Parameters:
    ///   - beat: The beat to be heard, in this program's numbers.
    ///   - time: The instant at which it is heard.
    ///   - quantum: The length of the grid in beats; 0 for no grid.
    ///
    /// Thread-safe: yes. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public mutating func forceBeat(_ beat: Double, at time: Instant, quantum: Double) {
      value.forceBeat(beat, at: time.micros, quantum: quantum)
    }

    /// Starts or stops at an instant. With start/stop sync, peers start and stop, too.
    ///
    /// - Parameters:
    ///   - isPlaying: Whether to start.
    ///   - time: The instant of the start or stop.
    ///
    /// Thread-safe: yes. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public mutating func setPlaying(_ isPlaying: Bool, at time: Instant) {
      value.setPlaying(isPlaying, at: time.micros)
    }

    /// Requests a beat at the instant of the start (a quantised launch). Does nothing while stopped.
    ///
    /// - Parameters:
    ///   - beat: The beat to be heard at the start.
    ///   - quantum: The length of the grid in beats; 0 for no grid.
    ///
    /// Thread-safe: yes. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public mutating func requestBeatAtStart(_ beat: Double, quantum: Double) {
      value.requestBeatAtStart(beat, quantum: quantum)
    }

    /// Starts or stops at an instant. A start also requests a beat at that instant.
    ///
    /// - Parameters:
    ///   - isPlaying: Whether to start.
    ///   - time: The instant of the start or stop.
    ///   - beat: The beat to be heard at the start.
    ///   - quantum: The length of the grid in beats; 0 for no grid.
    ///
    /// Thread-safe: yes. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public mutating func setPlaying(
      _ isPlaying: Bool, at time: Instant, requestingBeat beat: Double, quantum: Double
    ) {
      value.setPlaying(isPlaying, at: time.micros, requestingBeat: beat, quantum: quantum)
    }

    /// Compares the present values, not the captured ones.
    ///
    /// Thread-safe: yes. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public static func == (left: SessionState, right: SessionState) -> Bool { left.value == right.value }

    /// The values as text, like "120.0 BPM, playing, with peers".
    ///
    /// Thread-safe: yes. Real-time-safe: no.
    public var description: String {
      "\(tempo) BPM, \(isPlaying ? "playing" : "stopped"), \(isConnected ? "with" : "without") peers"
    }
  }
}
