// SPDX-License-Identifier: GPL-2.0-or-later

/// Beats per minute as the user set it, acting as whole microseconds per beat.
///
/// Link keeps the Double for display and equality but calculates with the rounded integer, so that a peer
/// that received 120.99994 agrees to the bit with the one that holds 121.
public struct Tempo: Hashable, Sendable, BitwiseCopyable {
  /// In BPM.
  public var beatsPerMinute: Double

  /// In BPM, of any size: ``clamped`` is what a session takes.
  @_noLocks @_noAllocation
  public init(_ beatsPerMinute: Double) {
    self.beatsPerMinute = beatsPerMinute
  }

  /// As decoded from the wire. Not positive gives an infinite or negative tempo: callers refuse it first.
  @_noLocks @_noAllocation
  public init(microsPerBeat: Int64) {
    beatsPerMinute = 60e6 / Double(microsPerBeat)
  }

  /// Link's range in beats per minute.
  public static var lowest: Double {
    @_noLocks @_noAllocation get { 20 }
  }

  /// 999 BPM.
  public static var highest: Double {
    @_noLocks @_noAllocation get { 999 }
  }

  /// Whole microseconds, as they go over the network.
  public var microsPerBeat: Int64 {
    @inlinable @_noLocks @_noAllocation get { Int64(rounding: 60e6 / beatsPerMinute) }
  }

  var isNumber: Bool {
    @_noLocks @_noAllocation get { beatsPerMinute == beatsPerMinute }
  }

  /// Within Link's 20...999 BPM; NaN becomes the lowest.
  public var clamped: Tempo {
    @_noLocks @_noAllocation get {
      guard beatsPerMinute >= Tempo.lowest else { return Tempo(Tempo.lowest) }
      return beatsPerMinute > Tempo.highest ? Tempo(Tempo.highest) : self
    }
  }

  @_noLocks @_noAllocation
  public static func == (left: Tempo, right: Tempo) -> Bool { left.beatsPerMinute == right.beatsPerMinute }

  /// How many pass in this time.
  @inlinable @_noLocks @_noAllocation
  public func beats(in duration: Micros) -> Beats {
    Beats(Double(duration.count) / Double(microsPerBeat))
  }

  /// How long so many take.
  @_noLocks @_noAllocation
  public func micros(in beats: Beats) -> Micros {
    Micros(rounding: beats.value * Double(microsPerBeat))
  }
}
