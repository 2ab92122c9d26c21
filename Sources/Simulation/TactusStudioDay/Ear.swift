// SPDX-License-Identifier: GPL-2.0-or-later

/// The invariants of a studio's output, in a musician's words.
public enum Promise: String, Sendable, CaseIterable {
  case oneClick = "exactly one click a beat"
  case oneClock = "exactly one MIDI clock every 24th of a beat"
  case inPhase = "each click and each clock within half a millisecond of its place in the session's beat"
  case export = "an export counts from its own frames, in the tempo it began with"
  case lag = "a host that counts frames lags by what its frames and the clock say, all night"
  case order = "Start, Stop and positions as a sequencer may get them"
}

/// The first broken promises of a day, with the times at which they broke.
struct Complaints {
  private static let limit = 20
  private(set) var all: [(promise: Promise, at: Double, text: String)] = []

  mutating func add(_ promise: Promise, at time: Double, _ text: String) {
    if all.count < Self.limit { all.append((promise, time, text)) }
  }
}

/// The session's beats on the studio's own clock.
struct SessionBeats: Equatable {
  var origin: Double
  var beatMicros: Double

  func beat(at time: Double) -> Double { (time - origin) / beatMicros }
  func time(of beat: Double) -> Double { origin + beat * beatMicros }
}

/// Listens to one output port. It counts the port's events (clicks or MIDI clocks) and judges their times. An
/// ear knows the session and the lost cycles, but nothing of `HostSync`.
///
/// Only three things excuse a wrong event. If the session's beat jumped, one beat is excused. If the
/// session's time was corrected, the events of the skipped time may be late by as much as the correction. If
/// cycles were lost, the events within these cycles are excused.
struct Ear {
  /// The largest allowed error, in microseconds, which is inaudible. JACK's own filter is off by more than a
  /// tenth of it.
  static let tolerance = 500.0
  /// If the session moves at once by more than this, it is not clear which beat is next. HostSync counts anew
  /// after a move of half a beat or 20 ms; these lower limits keep the ear independent of HostSync's exact
  /// limits.
  static let leap = (beats: 0.25, micros: 10_000.0)
  /// The longest silence that is no fault, in beats.
  static let longestSilence = 2.5
  /// The settling time of JACK's own filter, in microseconds, by its own constants.
  static let settling = 4_000_000.0

  private let promise: Promise
  private let perBeat: Double
  /// The smallest allowed time between two events after a jump, as a fraction of the usual time.
  private let closest: Double
  private var next: Double?
  private var beats = SessionBeats(origin: 0, beatMicros: 500_000)
  private var start = 0.0
  private var end: Double?
  private var lastHeard = -Double.infinity
  /// The time until which a jump of the session excuses wrong counts.
  private var jumpUntil = -Double.infinity
  /// The length of a beat before or after the jump, whichever is shorter.
  private var jumpPeriod = 0.0
  private var lag = (micros: 0.0, until: -Double.infinity)
  /// The ranges of the events that fell into lost cycles, for the last few losses.
  private var gaps: [ClosedRange<Double>] = []
  private var silence = 0.0
  private var isTimeInDoubt = false
  private var wasInDoubt = false

  private(set) var complaints = Complaints()
  private(set) var heard = 0
  private(set) var errors = Histogram()
  private(set) var jumps = 0
  /// How many events were excused: heard within the beat after a jump, heard late after a correction, or
  /// missing in lost cycles.
  private(set) var excused = (jumped: 0, late: 0, lost: 0)

  init(_ promise: Promise, perBeat: Double, closest: Double) {
    self.promise = promise
    self.perBeat = perBeat
    self.closest = closest
  }

  /// Begins a buffer that is heard from `start` to `end`. `isTimeInDoubt`: whether the driver has just
  /// stalled.
  mutating func open(from start: Double, to end: Double, beats: SessionBeats, isTimeInDoubt: Bool) {
    self.start = start
    self.isTimeInDoubt = isTimeInDoubt
    if start > lag.until { lag.micros = 0 }
    if let before = self.end {
      noteGap(from: before, to: start, beats)
      if beats != self.beats { noteMove(to: beats) }
    }
    jumpPeriod = min(jumpPeriod, beats.beatMicros)
    self.beats = beats
    self.end = end
    silence += (end - start) / beats.beatMicros
    if silence > Self.longestSilence {
      complaints.add(promise, at: end, "silent for more than \(Self.longestSilence) beats")
      silence = 0
    }
  }

  private mutating func noteGap(from before: Double, to start: Double, _ beats: SessionBeats) {
    guard start - before > 100 else { return }
    // A margin of a millisecond is added, because the session may be corrected at the same time.
    let numbers = [beats, self.beats].flatMap { grid in
      [before - 1000, start + 1000].map { grid.beat(at: $0) * perBeat }
    }
    let gap = (numbers.min() ?? 0)...(numbers.max() ?? 0)
    gaps = gaps.suffix(3) + [gap]
    // A beat in the gap is not heard, so the silence until the next beat is one beat longer.
    if gap.upperBound.rounded(.down) >= gap.lowerBound { silence = min(silence, 1) }
    if (start - before) / beats.beatMicros >= Self.leap.beats {
      excuseJump(beats)
    } else {
      fallBehind(by: start - before, beats)
    }
  }

  private mutating func noteMove(to beats: SessionBeats) {
    let moved = beats.beat(at: start) - self.beats.beat(at: start)
    let micros = abs(moved) * max(beats.beatMicros, self.beats.beatMicros)
    // The lag stands for a number of beats. If beats are longer now, the lag is longer, too.
    lag.micros *= max(1, beats.beatMicros / self.beats.beatMicros)
    let isLeap =
      abs(moved) >= Self.leap.beats
      || (beats.beatMicros == self.beats.beatMicros && micros >= Self.leap.micros)
    // An event of the skipped time must also come at least half the usual time after the event before it.
    let wait = max(0, lastHeard + beats.beatMicros / perBeat / 2 - start)
    if isLeap { excuseJump(beats) } else { fallBehind(by: micros + wait, beats) }
  }

  private mutating func excuseJump(_ beats: SessionBeats) {
    jumps += 1
    jumpPeriod = min(beats.beatMicros, self.beats.beatMicros)
    jumpUntil = start + beats.beatMicros
    silence = min(silence, 1)
    next = nil
  }

  private mutating func fallBehind(by micros: Double, _ beats: SessionBeats) {
    // A lag of more than one beat counts as a jump. The output catches up at twice the speed, so lags don't
    // add up for ever.
    lag.micros = min(lag.micros + micros, beats.beatMicros)
    lag.until = start + 2 * lag.micros + beats.beatMicros / perBeat
  }

  /// Starts over after an export or a server's death. From here on every event must be heard, and earlier
  /// excuses no longer count. For a short time, a late first wake-up of the audio thread is an excuse.
  ///
  /// - Parameter lateness: how late the first wake-up is. HostSync does not know yet how late it is, and may
  /// miss events that are due within this time.
  mutating func comeBack(at time: Double, beats: SessionBeats, lateness: Double) {
    // A filter that begins with a late wake-up needs a while to find the right time.
    lag = (lateness, time + Self.settling)
    (end, gaps, silence, jumpUntil) = (nil, [], 0, -.infinity)
    let first = beats.beat(at: time) * perBeat
    func micros(_ numbers: Double) -> Double { numbers / perBeat * beats.beatMicros }
    // An event that is due at this very moment may have been missed.
    let isDue =
      micros(first - first.rounded(.down)) < 2 * Self.tolerance
      || micros(first.rounded(.up) - first) < max(2 * Self.tolerance, lateness)
    next = isDue ? nil : first.rounded(.up)
  }

  /// Counts an event that the output sent and that we removed on purpose, as a planted fault.
  mutating func miss() { heard += 1 }

  mutating func listen(at time: Double) {
    heard += 1
    silence = 0
    defer { (lastHeard, wasInDoubt) = (time, isTimeInDoubt) }
    // While the output is still catching up, do not begin to count with this event.
    if time < jumpUntil || next == nil && time <= lag.until {
      excused.jumped += 1
      if time - lastHeard < closest * jumpPeriod / perBeat, !isTimeInDoubt, !wasInDoubt {
        complaints.add(promise, at: time, "two at once after a jump, \(place(at: time))")
      }
      return
    }
    let nearest = (beats.beat(at: time) * perBeat).rounded()
    guard let expected = next else {
      // Do not begin to count at an event whose number is uncertain.
      if !isTimeInDoubt { next = nearest + 1 }
      judgePhase(time, nearest)
      return
    }
    // If a click comes exactly on a later beat, the clicks before it were lost, and this click is not an
    // earlier click that is a whole beat late. This rule is not for MIDI clocks, because the output never
    // leaves out a MIDI clock.
    let isInPlace = abs(time - beats.time(of: nearest / perBeat)) <= Self.tolerance
    let isPastLost =
      promise == .oneClick && isInPlace && nearest > expected && areLost(expected, before: nearest)
    let late = time - beats.time(of: expected / perBeat)
    if !isPastLost, late > Self.tolerance, late <= lag.micros + Self.tolerance, time <= lag.until {
      excused.late += 1
      next = expected + 1
      return
    }
    next = nearest + 1
    if nearest == expected { judgePhase(time, nearest) } else { miscounted(time, nearest, expected) }
  }

  private mutating func miscounted(_ time: Double, _ number: Double, _ expected: Double) {
    guard number > expected else {
      complaints.add(promise, at: time, "\(Int(expected - number)) doubled, \(place(at: time))")
      return
    }
    if areLost(expected, before: number) {
      excused.lost += Int(number - expected)
    } else {
      complaints.add(promise, at: time, "\(Int(number - expected)) missing, \(place(at: time))")
    }
  }

  /// Whether all events from `expected` on, up to `number`, fell into lost cycles.
  private func areLost(_ expected: Double, before number: Double) -> Bool {
    number < expected + 100
      && stride(from: expected, to: number, by: 1).allSatisfy { one in gaps.contains { $0.contains(one) } }
  }

  private mutating func judgePhase(_ time: Double, _ number: Double) {
    let error = abs(time - beats.time(of: number / perBeat))
    if error > Self.tolerance, isTimeInDoubt || time <= lag.until && error <= lag.micros + Self.tolerance {
      excused.late += 1
      return
    }
    errors.add(error)
    if error > Self.tolerance {
      complaints.add(.inPhase, at: time, "off by \(Int(error)) us, \(place(at: time))")
    }
  }

  private func place(at time: Double) -> String {
    let hundredths = (beats.beat(at: time) * 100).rounded() / 100
    return "at beat \(hundredths) of \(Int((60e6 / beats.beatMicros).rounded())) BPM"
  }
}

/// A histogram of whole microseconds, because a day has millions of values.
public struct Histogram: Sendable {
  private var counts = [Int](repeating: 0, count: 2000)
  public private(set) var total = 0
  public private(set) var maximum = 0.0

  mutating func add(_ value: Double) {
    counts[min(counts.count - 1, Int(value))] += 1
    total += 1
    maximum = max(maximum, value)
  }

  /// The least whole number below which `fraction` of all values lie.
  public func quantile(_ fraction: Double) -> Int {
    var rest = fraction * Double(total)
    for (value, count) in counts.enumerated() {
      rest -= Double(count)
      if rest <= 0 { return value + 1 }
    }
    return counts.count
  }
}
