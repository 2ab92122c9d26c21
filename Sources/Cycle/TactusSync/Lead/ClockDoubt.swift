// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// The decisions of the loop about a MIDI clock message that does not come at its expected time. The loop
/// ignores such a message, and goes on at the known tempo, until the next clock messages show what happened.
/// If the next messages come at another pace, the tempo has changed. If they come at the old pace, all early
/// or late by the same time, the sequencer has paused.
extension ClockLoop {
  /// The distance from its expected time, as a multiple of the scatter, above which a clock message is
  /// doubted. The scatter (the messages' mean distance from the expected times) counts as at least
  /// `leastNoise` microseconds.
  static let usual: Double = 4
  static let leastNoise: Double = 25
  /// The number of clock messages after which a doubt is decided. The doubt ends without consequence if
  /// `backInPlace` messages in a row come at their expected times.
  static let witnesses: Int = 7
  static let backInPlace: Int = 2
  /// The multiple of the noise by which the measured time per clock message must differ from the known time
  /// to prove a change of tempo. The measurement takes `witnesses` messages. The limit is at least five
  /// standard deviations.
  static let slopeNoise: Double = 1.3
  /// The number of messages within which two shifts in one direction mean a change of tempo: two pauses do
  /// not come so close together.
  static let shiftMemory: Int = 96
  /// The scatter, as a share of the time between two clock messages, below which a few messages are enough to
  /// know the tempo.
  static let fineNoise: Double = 0.01
  /// The scatter, as a share of the time between two clock messages, above which no message can be doubted.
  static let scatterMax: Double = 0.055
  /// The distance of a gap from a whole number of clock intervals, as a share of an interval, below which the
  /// gap means lost clock messages. At a larger distance the sequencer has paused.
  static let nearlyWhole: Double = 0.25
  /// The number of messages after a decision in which no clock message is doubted. An error so soon is no
  /// accident, so the loop follows it.
  static let calmClocks: Int = 24

  /// The state just before a clock message that is doubted.
  struct Doubt: BitwiseCopyable {
    /// The number of clock messages since the doubt began, including the doubted one; 0: there is no doubt.
    var clocks = 0
    var inPlace = 0
    /// The microseconds from the preceding clock message to the doubted one.
    var gap = 0.0
    var number: Int64 = 0
  }

  mutating func beginDoubt(gap: Double) {
    doubt.inPlace = 0
    doubt.gap = gap
    doubt.number = number
    doubt.clocks = 1
  }

  /// Considers one more clock message, beginning with the doubted one. Meanwhile the loop goes on at the
  /// known tempo.
  mutating func weigh(_ isInPlace: Bool) {
    defer { if doubt.clocks > 0 { doubt.clocks += 1 } }
    doubt.inPlace = isInPlace ? doubt.inPlace + 1 : 0
    if doubt.inPlace >= Self.backInPlace {
      doubt.clocks = 0
      return
    }
    if doubt.clocks == Self.otherPaceClocks, let line = line(through: Self.otherPaceClocks), isOtherPace(line)
    {
      return judge(line, Self.otherPaceClocks)
    }
    guard doubt.clocks >= Self.witnesses else { return }
    if let line = line(through: Self.witnesses) {
      judge(line, Self.witnesses)
    } else if let line = line(through: Self.otherPaceClocks) {
      // Only the last five clock messages are evenly spaced; the messages before them are not.
      judge(line, Self.otherPaceClocks)
    } else {
      doubt.clocks = 0
      calm = Self.calmClocks
    }
  }

  func isOtherPace(_ line: Line) -> Bool {
    abs(line.slope - clockMicros) > Self.otherPace * min(line.slope, clockMicros)
  }

  /// Decides whether the tempo has changed or the sequencer has paused.
  mutating func judge(_ line: Line, _ count: Int) {
    recount(each: line.slope)
    let usual = max(max(scatter, line.scatter), Self.leastNoise)
    let change = abs(line.slope - clockMicros)
    let next = line.middle + Double(count + 1) / 2 * clockMicros
    let tolerated = (count < Self.witnesses ? 1.67 : 1) * Self.slopeNoise * usual
    if change <= tolerated, mayShift(by: next - due) {
      shift(by: next - due, count)
      noise = usual
      scatter = usual
      renumber(count)
    } else if usual < Self.fineNoise * clockMicros || isOtherPace(line) {
      begin(at: line, count)
    } else {
      // The tempo has changed, but these few clock messages do not show the new tempo.
      due = line.middle + Double(count + 1) / 2 * line.slope
      renumber(count)
      bandwidth = Self.widest
      averaged = 0
      bias = 0
      settled = 0
      state = .acquiring
      calm = Self.calmClocks
    }
    doubt.clocks = 0
  }

  /// Moves the beat by `time` microseconds, as measured over the last `count` clock messages. The tempo
  /// stays.
  mutating func shift(by time: Double, _ count: Int) {
    jumps &+= 1
    due += time
    lastShift = time
    sinceShift = 0
    bias = 0
    oneSided = 0
    averaged = count
  }

  /// Returns false if the beat was shifted in the same direction shortly before: repeated shifts mean that
  /// the tempo has changed.
  func mayShift(by time: Double) -> Bool {
    sinceShift > Self.shiftMemory || time * lastShift < 0 || abs(time) > 10 * abs(lastShift)
  }

  /// Widens the loop's bandwidth while all clock messages are early, or all are late: either the tempo
  /// changes, or a short pause has moved the beat. If the messages are early and late by turns, narrows the
  /// bandwidth a little.
  mutating func narrowOrWiden() {
    oneSided = abs(bias) > 0.8 * noise && noise > 50 ? oneSided + 1 : 0
    if oneSided == 0 {
      bandwidth = max(Self.narrowest, bandwidth * (1 - 0.6 * clockMicros / 1e6))
    } else if averaged > 0 {
      // What looked like a shift of the beat is a change of tempo.
      guard oneSided >= Self.witnesses else { return }
      averaged = 0
      bandwidth = Self.widest
    } else if !canTell || bandwidth >= Self.settledBandwidth {
      bandwidth = min(Self.widest, bandwidth * 1.5)
    } else if oneSided >= Self.witnesses {
      if hasOldPace, mayShift(by: bias) {
        shift(by: bias, 12)
      } else {
        bandwidth = Self.settledBandwidth
      }
    }
  }

  /// Whether the loop may doubt a clock message. It must not doubt shortly after a decision, nor while the
  /// messages scatter widely.
  var canTell: Bool { calm == 0 && scatter < Self.scatterMax * clockMicros }

  /// Returns whether the latest clock messages, taken alone, have the old pace.
  var hasOldPace: Bool {
    guard let line = line(through: Self.witnesses) else { return false }
    return abs(line.slope - clockMicros) <= Self.slopeNoise * max(max(line.scatter, scatter), Self.leastNoise)
  }

  /// Computes the number of the next clock message. Counts the messages that were lost since the doubt began,
  /// and leaves out surplus messages.
  mutating func recount(each clockMicros: Double) {
    number = doubt.number
    for index in recentCount - doubt.clocks..<recentCount {
      let isFirst = index == recentCount - doubt.clocks
      let gap = isFirst ? doubt.gap : recent[index].time - recent[index - 1].time
      number &+= clocks(in: gap, each: clockMicros)
    }
  }

  /// The number of clock messages by which a gap advances the count. A gap of 3 intervals counts as 3,
  /// because two messages were lost. A gap of 3.5 intervals is not a whole number, so the sequencer paused;
  /// the gap counts as 3, the whole intervals in it.
  func clocks(in gap: Double, each clockMicros: Double) -> Int64 {
    let clocks = gap / clockMicros
    let whole = Int64(rounding: clocks)
    return abs(clocks - Double(whole)) <= Self.nearlyWhole ? whole : max(1, Int64(flooring: clocks))
  }

  /// Recognises a change of tempo. At a new tempo, a clock message may by chance come at the expected time of
  /// a later message, as if messages were lost. But messages at a new tempo are evenly spaced. If they are,
  /// the last messages are counted again, one by one.
  mutating func takeOtherPace() {
    let count = Self.otherPaceClocks
    guard let line = line(through: count), isOtherPace(line), isAllOdd(count) else { return }
    number = recent[recentCount - count].number &+ Int64(count)
    begin(at: line, count)
  }

  /// Returns whether all gaps between the last `count` clock messages are longer than the known interval, or
  /// all are shorter.
  func isAllOdd(_ count: Int) -> Bool {
    var longer = 0, shorter = 0
    for index in recentCount - count + 1..<recentCount {
      let more = recent[index].time - recent[index - 1].time - clockMicros
      if more > Self.otherPace / 2 * clockMicros { longer += 1 }
      if more < -Self.otherPace / 2 * clockMicros { shorter += 1 }
    }
    return max(longer, shorter) == count - 1
  }
}
