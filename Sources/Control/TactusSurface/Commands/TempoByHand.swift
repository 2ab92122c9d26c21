// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// Computes a tempo from taps, as the median of the last intervals, so that one clumsy tap changes nothing.
struct Taps {
  /// After a longer pause, the next tap counts as the first one. At 20 BPM, taps are 3 s apart.
  static let pause = Micros(3_200_000)
  static let intervalLimit = 7
  /// An interval that differs from the median by more than this factor starts a new tempo. A smaller
  /// difference counts as a clumsy tap.
  static let tolerance = 1.7

  private var last: Micros?
  private var intervals: [Double] = []

  /// Returns the tempo in BPM; nil: this was the first tap, or the switch bounced.
  mutating func tap(at now: Micros) -> Double? {
    guard let last else {
      self.last = now
      return nil
    }
    let interval = now - last
    // A faster interval than that of 999 BPM means that the switch bounced.
    guard interval.count > 55_000 else { return nil }
    self.last = now
    guard interval <= Self.pause else {
      intervals = []
      return nil
    }
    let seconds = Double(interval.count) / 1e6
    if let median, seconds > median * Self.tolerance || seconds * Self.tolerance < median { intervals = [] }
    intervals.append(seconds)
    if intervals.count > Self.intervalLimit { intervals.removeFirst() }
    guard let median else { return nil }
    return Tempo((60 / median * 100).rounded() / 100).clamped.beatsPerMinute
  }

  private var median: Double? {
    let sorted = intervals.sorted()
    guard let upper = sorted.dropFirst(sorted.count / 2).first else { return nil }
    return sorted.count % 2 == 1 ? upper : (upper + sorted[sorted.count / 2 - 1]) / 2
  }
}

/// Limits how many tempos go to the session. A fader sends hundreds of tempos a second, and the session sends
/// each tempo to every peer. At most 20 tempos a second pass: the first tempo at once, and always the last.
struct TempoGate<Asker> {
  static var interval: Micros { Micros(50_000) }

  private var last: Micros?
  private var held: (tempo: Double, asker: Asker)?

  /// Returns the tempo to pass on now; nil: none may pass now.
  mutating func offer(
    _ tempo: Double, from asker: Asker, at now: Micros
  ) -> (tempo: Double, asker: Asker)? {
    held = (tempo, asker)
    return due(at: now)
  }

  mutating func due(at now: Micros) -> (tempo: Double, asker: Asker)? {
    guard let waiting = held, now >= deadline ?? now else { return nil }
    held = nil
    last = now
    return waiting
  }

  /// When the held tempo may pass; nil: none is held.
  var deadline: Micros? {
    guard held != nil else { return nil }
    guard let last else { return nil }
    return last + Self.interval
  }

  /// Drops the held tempo: a tempo that is set for a beat or a bar replaces what a fader sent before.
  mutating func drop() { held = nil }
}
