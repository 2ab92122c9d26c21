// SPDX-License-Identifier: GPL-2.0-or-later

/// A tempo in beats per minute, as the user set it. In computations it acts as whole microseconds per beat.
///
/// Link keeps the `Double` for display and equality but computes with whole microseconds per beat. So a peer
/// that received 120.99994 BPM computes the same beats, to the bit, as a peer that has 121 BPM.
public struct Tempo: Hashable, Sendable, BitwiseCopyable {
  /// The tempo in beats per minute (BPM).
  public var beatsPerMinute: Double

  /// Makes a tempo of any number of BPM; ``clamped`` limits it to a session's range.
  @_noLocks @_noAllocation
  public init(_ beatsPerMinute: Double) {
    self.beatsPerMinute = beatsPerMinute
  }

  /// A tempo decoded from the wire. A number that is not positive gives an infinite or negative tempo:
  /// callers must refuse such a number before.
  @_noLocks @_noAllocation
  public init(microsPerBeat: Int64) {
    beatsPerMinute = 60e6 / Double(microsPerBeat)
  }

  /// The lowest tempo of Link, in BPM.
  public static var lowest: Double {
    @_noLocks @_noAllocation get { 20 }
  }

  /// The highest tempo of Link, in BPM.
  public static var highest: Double {
    @_noLocks @_noAllocation get { 999 }
  }

  /// Microseconds per beat, as sent over the network.
  public var microsPerBeat: Int64 {
    @inlinable @_noLocks @_noAllocation get { Int64(rounding: 60e6 / beatsPerMinute) }
  }

  var isNumber: Bool {
    @_noLocks @_noAllocation get { beatsPerMinute == beatsPerMinute }
  }

  /// The tempo limited to Link's 20...999 BPM; NaN becomes 20 BPM.
  public var clamped: Tempo {
    @_noLocks @_noAllocation get {
      guard beatsPerMinute >= Tempo.lowest else { return Tempo(Tempo.lowest) }
      return beatsPerMinute > Tempo.highest ? Tempo(Tempo.highest) : self
    }
  }

  @_noLocks @_noAllocation
  public static func == (left: Tempo, right: Tempo) -> Bool { left.beatsPerMinute == right.beatsPerMinute }

  /// The beats that pass within `duration` at this tempo.
  @inlinable @_noLocks @_noAllocation
  public func beats(in duration: Micros) -> Beats {
    Beats(Double(duration.count) / Double(microsPerBeat))
  }

  /// The time that `beats` take at this tempo.
  @_noLocks @_noAllocation
  public func micros(in beats: Beats) -> Micros {
    Micros(rounding: beats.value * Double(microsPerBeat))
  }
}
