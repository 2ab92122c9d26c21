// SPDX-License-Identifier: GPL-2.0-or-later

// A client's own timeline has the session's phase (facts: link 6).

/// A straight line between time and beats: it has `beatOrigin` at `timeOrigin` and runs at `tempo`.
///
/// On the wire the time is the session's ghost time. A client's own timeline is in host time, and its origin
/// holds the quantisation grid: `timeOrigin` is the time of session beat 0, and `beatOrigin` is the client's
/// beat at that time.
public struct Timeline: Hashable, Sendable, BitwiseCopyable {
  /// The tempo at which the beats run.
  public var tempo: Tempo
  /// The beat at ``timeOrigin``.
  public var beatOrigin: Beats
  /// The time of ``beatOrigin``.
  public var timeOrigin: Micros

  /// Makes the line that has the beat `beatOrigin` at the time `timeOrigin`.
  @_noLocks @_noAllocation
  public init(tempo: Tempo, beatOrigin: Beats, timeOrigin: Micros) {
    self.tempo = tempo
    self.beatOrigin = beatOrigin
    self.timeOrigin = timeOrigin
  }

  @_noLocks @_noAllocation
  public static func == (left: Timeline, right: Timeline) -> Bool {
    left.tempo == right.tempo && left.beatOrigin == right.beatOrigin && left.timeOrigin == right.timeOrigin
  }

  /// The beat of this line at a time.
  @inlinable @_noLocks @_noAllocation
  public func beats(at time: Micros) -> Beats {
    beatOrigin + tempo.beats(in: time - timeOrigin)
  }

  /// The time at which this line has a beat.
  @_noLocks @_noAllocation
  public func time(at beats: Beats) -> Micros {
    timeOrigin + tempo.micros(in: beats - beatOrigin)
  }

  /// The same line with its tempo limited to Link's range. The origin stays.
  public var clamped: Timeline {
    @_noLocks @_noAllocation get {
      Timeline(tempo: tempo.clamped, beatOrigin: beatOrigin, timeOrigin: timeOrigin)
    }
  }
}
