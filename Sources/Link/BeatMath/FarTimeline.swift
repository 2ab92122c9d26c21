// SPDX-License-Identifier: GPL-2.0-or-later

// Beats so far from zero that a `Double` cannot tell neighbours apart. Any peer may announce such a beat, and
// the reference's peers go on from there, so we compute with whole numbers. `Timeline` handles nearer beats
// and gives the same bits as the reference.

extension Timeline {
  /// A whole number of bars of any length up to sixteen beats: a beat that is rounds away has the same phase.
  public static var round: Beats { Beats(micros: 720_720_000_000) }

  /// Whether a `Double` is precise enough, with room to spare: 35 years, and as many beats at 60 BPM.
  func isNear(_ time: Micros) -> Bool {
    beatOrigin.micros.magnitude < 1 << 50 && timeOrigin.count.magnitude < 1 << 50
      && time.count.magnitude < 1 << 50
  }

  /// Like `beats(at:)`, but exact to the microbeat everywhere; out of range saturates.
  public func exactBeats(at time: Micros) -> Beats {
    if isNear(time) { return beats(at: time) }
    let elapsed = Int128(time.count) - Int128(timeOrigin.count)
    return Beats(
      micros: Int64(clamping: Int128(beatOrigin.micros) + scaled(elapsed, by: 1_000_000, over: length)))
  }

  /// Like `time(at:)`, but exact to the microsecond everywhere; out of range saturates.
  public func exactTime(at beats: Beats) -> Micros {
    let apart = Int128(beats.micros) - Int128(beatOrigin.micros)
    if isNear(timeOrigin) && apart.magnitude < 1 << 50 { return time(at: beats) }
    return Micros(Int64(clamping: Int128(timeOrigin.count) + scaled(apart, by: length, over: 1_000_000)))
  }

  /// A timeline with the same phases and small numbers: its origin lies whole beats from this one's and less
  /// than one beat from `time`, and lacks whole rounds. A near timeline is returned as it is.
  func near(_ time: Micros) -> Timeline {
    if isNear(time) { return self }
    let elapsed = Int128(time.count) - Int128(timeOrigin.count)
    let origin = Int128(beatOrigin.micros) + elapsed / length * 1_000_000
    return Timeline(
      tempo: tempo, beatOrigin: Beats(micros: Int64(origin % Int128(Timeline.round.micros))),
      timeOrigin: time - Micros(Int64(elapsed % length)))
  }

  /// Microseconds per beat, never zero and small enough that products fit.
  private var length: Int128 { Int128(min(max(1, tempo.microsPerBeat), 1 << 40)) }
}

/// Rounds to nearest, halves away from zero.
private func scaled(_ value: Int128, by factor: Int128, over divisor: Int128) -> Int128 {
  let product = value * factor
  return (product + (product < 0 ? -divisor : divisor) / 2) / divisor
}

extension Beats {
  /// The nearest whole number of rounds.
  var wholeRounds: Beats {
    let round = Timeline.round.micros
    return Beats(micros: (micros &+ (micros < 0 ? -round : round) / 2) / round * round)
  }
}
