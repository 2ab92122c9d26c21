// SPDX-License-Identifier: GPL-2.0-or-later

// This file is for beats so far from zero that a `Double` cannot distinguish neighbouring microbeats. Any
// peer may announce such a beat, and peers with Ableton's own library continue from such a beat, so we
// compute with whole numbers. `Timeline` handles nearer beats and gives the same bits as Ableton's library.

extension Timeline {
  /// A round: 720,720 beats, a multiple of every whole number up to sixteen. Two beats that are whole rounds
  /// apart have the same phase in every bar of up to sixteen beats.
  public static var round: Beats { Beats(millionths: 720_720_000_000) }

  /// Whether a `Double` is precise enough to compute the beat at `time`. The limits leave some room: times of
  /// 35 years, and as many beats as 35 years have at 60 BPM.
  func isNear(_ time: Micros) -> Bool {
    beatOrigin.millionths.magnitude < 1 << 50 && timeOrigin.count.magnitude < 1 << 50
      && time.count.magnitude < 1 << 50
  }

  /// Like `beats(at:)`, but exact to the microbeat everywhere; a result out of range saturates.
  public func exactBeats(at time: Micros) -> Beats {
    if isNear(time) { return beats(at: time) }
    let elapsed = Int128(time.count) - Int128(timeOrigin.count)
    return Beats(
      millionths: Int64(
        clamping: Int128(beatOrigin.millionths) + scaled(elapsed, by: 1_000_000, over: length)))
  }

  /// Like `time(at:)`, but exact to the microsecond everywhere; a result out of range saturates.
  public func exactTime(at beats: Beats) -> Micros {
    let apart = Int128(beats.millionths) - Int128(beatOrigin.millionths)
    if isNear(timeOrigin) && apart.magnitude < 1 << 50 { return time(at: beats) }
    return Micros(Int64(clamping: Int128(timeOrigin.count) + scaled(apart, by: length, over: 1_000_000)))
  }

  /// A timeline with the same phases and smaller numbers. The new origin is less than one beat from `time`,
  /// and a whole number of beats from this timeline's origin. Whole rounds are subtracted from the beat of
  /// the new origin. If this timeline's numbers are small enough already, it is returned unchanged.
  func near(_ time: Micros) -> Timeline {
    if isNear(time) { return self }
    let elapsed = Int128(time.count) - Int128(timeOrigin.count)
    let origin = Int128(beatOrigin.millionths) + elapsed / length * 1_000_000
    return Timeline(
      tempo: tempo, beatOrigin: Beats(millionths: Int64(origin % Int128(Timeline.round.millionths))),
      timeOrigin: time - Micros(Int64(elapsed % length)))
  }

  /// Microseconds per beat, never zero and small enough that products fit into 128 bits.
  private var length: Int128 { Int128(min(max(1, tempo.microsPerBeat), 1 << 40)) }
}

/// Rounds to nearest, halves away from zero.
private func scaled(_ value: Int128, by factor: Int128, over divisor: Int128) -> Int128 {
  let product = value * factor
  return (product + (product < 0 ? -divisor : divisor) / 2) / divisor
}

extension Beats {
  /// These beats, rounded to a whole number of rounds (`Timeline.round`).
  package var wholeRounds: Beats {
    let round = Timeline.round.millionths
    return Beats(millionths: (millionths &+ (millionths < 0 ? -round : round) / 2) / round * round)
  }
}
