// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// Computes the tempo and the position of the beat from the taps of a drummer, over many bars.
///
/// Each tap is compared with the expected beat. A part of the tap's error corrects the position, and a
/// smaller part corrects the tempo. Both parts are large for the first taps. Once a bar of taps agrees,
/// they are small, so that a human's 10 ms of jitter change little. A beat without a tap is counted, too. A
/// flam (two taps almost at once) or a single tap off the beat changes nothing.
struct Drummer {
  /// The number of taps after which the tempo is reported.
  static let few = 4
  /// The parts of a tap's error that are corrected once the beat is well known.
  static let least = (place: 0.3, tempo: 0.06)
  /// A tap that is farther from the beat than this part of a beat counts as off the beat.
  static let off = 0.25
  /// This many taps off the beat in a row start a new beat.
  static let tapsOffBeat = 3
  /// If more beats than this pass without a tap, the estimate begins anew.
  static let mostMissed: Int64 = 8
  /// Largest relative change of the tempo by one tap, once the beat is known.
  static let mostChange = 0.04

  /// The time of one of the drummer's beats, and the length of a beat; both in microseconds.
  struct Beat: Equatable {
    var time: Double
    var length: Double
  }

  private var beat: Beat?
  private var first: Double?
  private var taps = 0
  private var strangers = 0

  /// Returns the beat that was tapped, as estimated; nil: there is no estimate yet, or the tap does not
  /// count.
  mutating func tap(at moment: Micros) -> Beat? {
    let time = Double(moment.count)
    guard let known = beat else { return begin(at: time) }
    let count = Int64(rounding: (time - known.time) / known.length)
    guard count <= Self.mostMissed else { return begin(again: time) }
    // This tap was the second tap of a flam, or the switch bounced.
    guard count > 0 else { return nil }
    let off = time - known.time - Double(count) * known.length
    guard abs(off) <= Self.off * known.length else {
      strangers += 1
      return strangers < Self.tapsOffBeat ? nil : begin(again: time)
    }
    strangers = 0
    taps += 1
    // For the first taps, these corrections give the same beats as a line through all taps (least squares).
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

  /// Starts the estimate from the first two taps.
  private mutating func begin(at time: Double) -> Beat? {
    guard let first else { return begin(again: time) }
    let length = time - first
    // The switch bounced.
    guard length > 60e6 / Tempo.highest else { return nil }
    guard length <= 60e6 / Tempo.lowest else { return begin(again: time) }
    beat = Beat(time: time, length: length)
    taps = 2
    return nil
  }
}
