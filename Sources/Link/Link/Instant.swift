// SPDX-License-Identifier: GPL-2.0-or-later
package import LinkBeatMath
internal import LinkSystem

extension Link {
  /// An instant of Link's clock, in whole microseconds.
  ///
  /// Instants of one machine may be compared until its next start; those of two machines have nothing in
  /// common. Sums saturate at the ends of the clock.
  public struct Instant: InstantProtocol, BitwiseCopyable, Codable, CustomStringConvertible {
    package var micros: Micros

    @_noLocks @_noAllocation
    package init(_ micros: Micros) {
      self.micros = micros
    }

    /// The instant that is this many microseconds after the start of the system's clock.
    ///
    /// Thread-safe: yes. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public init(microseconds: Int64) {
      micros = Micros(microseconds)
    }

    /// The present instant.
    ///
    /// Thread-safe: yes. Real-time-safe: yes.
    public static var now: Instant {
      @_noLocks @_noAllocation get { Instant(HostClock.micros()) }
    }

    /// Microseconds since the start of the system's clock.
    ///
    /// Thread-safe: yes. Real-time-safe: yes.
    public var microseconds: Int64 {
      @_noLocks @_noAllocation get { micros.count }
    }

    /// The instant that is later than this one by a duration, to the nearest microsecond. In an audio
    /// callback use ``advanced(frames:sampleRate:)`` or ``advanced(microseconds:)``.
    ///
    /// Thread-safe: yes. Real-time-safe: no, `Duration` allocates in debug builds.
    public func advanced(by duration: Duration) -> Instant {
      Instant(microseconds: Int64(clamping: Int128(micros.count) + duration.nearestMicros))
    }

    /// The duration from this instant to another instant.
    ///
    /// Thread-safe: yes. Real-time-safe: no, `Duration` allocates in debug builds.
    public func duration(to other: Instant) -> Duration {
      .microseconds(other.micros.count) - .microseconds(micros.count)
    }

    /// The instant that is later than this one by a number of microseconds.
    ///
    /// Thread-safe: yes. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public func advanced(microseconds: Int64) -> Instant { moved(by: Micros(microseconds)) }

    /// The instant that is later than this one by a number of frames of audio, to the nearest microsecond.
    /// For a negative number the instant is earlier.
    ///
    /// Thread-safe: yes. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public func advanced(frames: Int, sampleRate: Double) -> Instant {
      moved(by: Micros(rounding: Double(frames) * 1e6 / sampleRate))
    }

    @_noLocks @_noAllocation
    private func moved(by distance: Micros) -> Instant {
      let (sum, overflows) = micros.count.addingReportingOverflow(distance.count)
      guard overflows else { return Instant(Micros(sum)) }
      return Instant(Micros(distance.count < 0 ? .min : .max))
    }

    /// Compares two instants of one clock.
    ///
    /// Thread-safe: yes. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public static func < (left: Instant, right: Instant) -> Bool { left.micros < right.micros }

    /// Whether two instants are the same microsecond.
    ///
    /// Thread-safe: yes. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public static func == (left: Instant, right: Instant) -> Bool { left.micros == right.micros }

    /// The instant that is later than `left` by a duration, like `advanced(by:)`.
    ///
    /// Thread-safe: yes. Real-time-safe: no, `Duration` allocates in debug builds.
    public static func + (left: Instant, right: Duration) -> Instant { left.advanced(by: right) }

    /// The instant that is earlier than `left` by a duration.
    ///
    /// Thread-safe: yes. Real-time-safe: no, `Duration` allocates in debug builds.
    public static func - (left: Instant, right: Duration) -> Instant {
      Instant(microseconds: Int64(clamping: Int128(left.micros.count) - right.nearestMicros))
    }

    /// The duration from the right instant to the left one.
    ///
    /// Thread-safe: yes. Real-time-safe: no, `Duration` allocates in debug builds.
    public static func - (left: Instant, right: Instant) -> Duration { right.duration(to: left) }

    /// Makes the instant later by a duration.
    ///
    /// Thread-safe: yes. Real-time-safe: no, `Duration` allocates in debug builds.
    public static func += (left: inout Instant, right: Duration) { left = left + right }

    /// The microseconds with their unit, like "1500000 µs".
    public var description: String { "\(micros.count) µs" }

    /// Reads a number of microseconds.
    ///
    /// Thread-safe: yes. Real-time-safe: no.
    public init(from decoder: any Decoder) throws {
      self.init(microseconds: try decoder.singleValueContainer().decode(Int64.self))
    }

    /// Writes a number of microseconds.
    ///
    /// Thread-safe: yes. Real-time-safe: no.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(micros.count)
    }
  }

  /// The clock whose instants relate to beats: the system's raw monotonic clock. It stands still while the
  /// machine sleeps.
  public struct Clock: _Concurrency.Clock {
    /// Creates the clock; all values are the same clock.
    ///
    /// Thread-safe: yes. Real-time-safe: yes.
    @_noLocks @_noAllocation
    public init() {}

    /// The present instant.
    ///
    /// Thread-safe: yes. Real-time-safe: yes.
    public var now: Instant {
      @_noLocks @_noAllocation get { .now }
    }

    /// The smallest time that the clock distinguishes: one microsecond.
    public var minimumResolution: Duration { .microseconds(1) }

    /// Suspends the task until the instant; throws if the task is cancelled. `Task.sleep(until:clock:)` calls
    /// this function.
    ///
    /// Thread-safe: yes. Real-time-safe: no, it waits.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
      try Task.checkCancellation()
      // The clock that ends the sleep differs from Link's clock by some millionths, so one sleep may end too
      // early.
      while true {
        let left = now.duration(to: deadline)
        guard left > .zero else { return }
        try await Task.sleep(for: left, tolerance: tolerance, clock: .suspending)
      }
    }
  }

  /// The present instant. In an audio callback write `Link.Instant.now`: a function marked `@_noLocks` may
  /// not name a class.
  ///
  /// Thread-safe: yes. Real-time-safe: no, but it never waits.
  public static var now: Instant { .now }
}

extension Clock where Self == Link.Clock {
  /// Link's clock, for `Task.sleep(until: instant, clock: .link)`.
  public static var link: Link.Clock { Link.Clock() }
}
