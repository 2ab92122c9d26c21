// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// Follows somebody who taps along for bars: the tempo, and where the beat is.
///
/// Each tap is held against the beat that is expected next. What it is off corrects the place by a part and the tempo by a smaller
/// one; the parts are large for the first taps and small once a bar of them agrees, so that a human's 10 ms move little. A beat
/// that was not tapped is counted, a flam and a single tap beside the beat change nothing.
struct Drummer {
  /// Taps before it is believed.
  static let few = 4
  /// The parts when it is known well.
  static let least = (place: 0.3, tempo: 0.06)
  /// Farther from its beat than this part of one, it is none.
  static let off = 0.25
  /// So many beside the beat in a row are another beat.
  static let patience = 3
  /// After more beats than this without a tap it begins again.
  static let mostMissed: Int64 = 8
  /// By such a share the tempo changes with a tap at most, once it is known.
  static let mostChange = 0.04

  /// A beat of the drummer's, in microseconds, and how long one is.
  struct Beat: Equatable {
    var time: Double
    var length: Double
  }

  private var beat: Beat?
  private var first: Double?
  private var taps = 0
  private var strangers = 0

  /// What is believed of the beat that was tapped; nil: nothing, yet.
  mutating func tap(at moment: Micros) -> Beat? {
    let time = Double(moment.count)
    guard let known = beat else { return begin(at: time) }
    let count = Int64(rounding: (time - known.time) / known.length)
    guard count <= Self.mostMissed else { return begin(again: time) }
    // A flam, or a switch that bounced.
    guard count > 0 else { return nil }
    let off = time - known.time - Double(count) * known.length
    guard abs(off) <= Self.off * known.length else {
      strangers += 1
      return strangers < Self.patience ? nil : begin(again: time)
    }
    strangers = 0
    taps += 1
    // As a line through all taps would have it, until those are many.
    let number = Double(taps)
    let place = max(Self.least.place, 2 * (2 * number - 1) / (number * (number + 1)))
    let tempo = max(Self.least.tempo, 6 / (number * (number + 1)))
    var change = tempo * off / Double(count)
    if taps > Self.few {
      let most = Self.mostChange * known.length
      change = min(most, max(-most, change))
    }
    let length = known.length + change
    guard (Tempo.lowest...Tempo.highest).contains(60e6 / length) else { return begin(again: time) }
    beat = Beat(time: time - off + min(1, place) * off, length: length)
    return taps >= Self.few ? beat : nil
  }

  private mutating func begin(again time: Double) -> Beat? {
    self = Drummer()
    first = time
    return nil
  }

  /// From the first two.
  private mutating func begin(at time: Double) -> Beat? {
    guard let first else { return begin(again: time) }
    let length = time - first
    // It bounced.
    guard length > 60e6 / Tempo.highest else { return nil }
    guard length <= 60e6 / Tempo.lowest else { return begin(again: time) }
    beat = Beat(time: time, length: length)
    taps = 2
    return nil
  }
}
