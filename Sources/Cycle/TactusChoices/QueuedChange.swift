// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath

/// A change of tempo or meter that waits for a beat of the session. The audio thread gets the change before
/// that beat.
public struct QueuedChange: Hashable, Sendable, BitwiseCopyable {
  public var beat: Beats
  /// The new tempo; nil: the tempo stays.
  public var tempo: Tempo?
  /// The new meter; nil: the meter stays.
  public var meter: Meter?

  public init(at beat: Beats, tempo: Tempo? = nil, meter: Meter? = nil) {
    self.beat = beat
    self.tempo = tempo
    self.meter = meter
  }

  @_noLocks @_noAllocation
  public func isOf(_ other: Meter) -> Bool { meter == other }
}
