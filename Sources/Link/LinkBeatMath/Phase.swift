// SPDX-License-Identifier: GPL-2.0-or-later

// The position of a beat within a quantum, and the nearby beat with a wanted phase (facts: link 6). A quantum
// of zero means "no grid"; a negative quantum has no meaning and is taken as zero.

extension Beats {
  /// The position within the quantum, in 0 ..< quantum, also for negative beats.
  @inlinable @_noLocks @_noAllocation
  public func phase(in quantum: Beats) -> Beats {
    guard quantum.millionths > 0 else { return .zero }
    let remainder = millionths % quantum.millionths
    return Beats(millionths: remainder < 0 ? remainder &+ quantum.millionths : remainder)
  }

  /// The first beat with `target`'s phase at or after this beat.
  @inlinable @_noLocks @_noAllocation
  public func nextMatchingPhase(of target: Beats, quantum: Beats) -> Beats {
    guard quantum.millionths > 0 else { return self }
    // The usual case takes one division instead of three. The difference of two beats fits into 64 bits
    // unless they are extremely far apart.
    let (distance, overflows) = target.millionths.subtractingReportingOverflow(millionths)
    if !overflows { return self + Beats(millionths: distance).phase(in: quantum) }
    return self + (target.phase(in: quantum) - phase(in: quantum)).phase(in: quantum)
  }

  /// The nearest beat with `target`'s phase; if two beats are equally near, the earlier beat.
  @inlinable @_noLocks @_noAllocation
  public func closestMatchingPhase(of target: Beats, quantum: Beats) -> Beats {
    guard quantum.millionths > 0 else { return self }
    return (self - Beats(0.5 * quantum.value)).nextMatchingPhase(of: target, quantum: quantum)
  }
}

extension Timeline {
  /// The client's beat, moved by at most half a quantum so that its phase is the session's.
  @inlinable @_noLocks @_noAllocation
  public func phaseEncodedBeats(at time: Micros, quantum: Beats) -> Beats {
    let raw = beats(at: time)
    return raw.closestMatchingPhase(of: raw - beatOrigin, quantum: quantum)
  }

  /// The inverse of `phaseEncodedBeats`. If two beats are equally near, `phaseEncodedBeats` takes one of
  /// them, and this function takes the other, so that the inverse is exact.
  @_noLocks @_noAllocation
  public func time(atPhaseEncoded beats: Beats, quantum: Beats) -> Micros {
    let fromOrigin = beats - beatOrigin
    let originPhase = fromOrigin.phase(in: quantum)
    let inverse = (quantum - originPhase)
      .closestMatchingPhase(of: quantum - beats.phase(in: quantum), quantum: quantum)
    return time(at: beatOrigin + (fromOrigin - originPhase) + quantum - inverse)
  }
}
