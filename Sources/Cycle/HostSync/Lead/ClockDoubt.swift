// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// The judgement of a clock that is out of place. The loop does not believe it until the next clocks show
/// what it means, and coasts meanwhile. Clocks at another pace are another tempo. Clocks at the old pace, all
/// off by the same, follow a pause.
extension ClockLoop {
  /// A clock is doubted if it is farther from its place than `usual` times the scatter, which counts as at
  /// least `leastNoise` microseconds.
  static let usual: Double = 4
  static let leastNoise: Double = 25
  /// A doubt is decided after `witnesses` clocks. It ends without consequence if `backInPlace` clocks in a
  /// row are in place.
  static let witnesses: Int = 7
  static let backInPlace: Int = 2
  /// The slope of `witnesses` clocks errs by this share of their noise at most (five standard deviations and
  /// more).
  static let slopeNoise: Double = 1.3
  /// If the clocks shift twice in one direction within this number of clocks, the tempo has changed: two
  /// pauses do not come so close.
  static let shiftMemory: Int = 96
  /// If the scatter is below this share of a clock's length, a few clocks are enough to tell the tempo.
  static let fineNoise: Double = 0.01
  /// Above this share no clock can be called out of place.
  static let scatterMax: Double = 0.055
  /// A gap that differs from whole clocks by less than this part of a clock is due to lost clocks.
  static let nearlyWhole: Double = 0.25
  /// After a judgement nothing is doubted for this number of clocks: an error then is no accident.
  static let calmClocks: Int = 24

  /// The state before a clock that was out of place.
  struct Doubt: BitwiseCopyable {
    /// Clocks since then, including that clock; 0: there is no doubt.
    var clocks = 0
    var inPlace = 0
    /// Microseconds from the preceding clock to the doubted one.
    var gap = 0.0
    var number: Int64 = 0
  }

  mutating func beginDoubt(gap: Double) {
    doubt.inPlace = 0
    doubt.gap = gap
    doubt.number = number
    doubt.clocks = 1
  }

  /// Weighs one more clock, beginning with the one that was out of place. Meanwhile the loop coasts.
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
      // The clocks before these five were uneven.
      judge(line, Self.otherPaceClocks)
    } else {
      doubt.clocks = 0
      calm = Self.calmClocks
    }
  }

  func isOtherPace(_ line: Line) -> Bool {
    abs(line.slope - clockMicros) > Self.otherPace * min(line.slope, clockMicros)
  }

  /// Decides between another tempo and a pause.
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
      // The tempo has changed, but these few clocks cannot tell to which.
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

  /// Moves the beat by `time`, as `count` clocks show; the tempo stays.
  mutating func shift(by time: Double, _ count: Int) {
    jumps &+= 1
    due += time
    lastShift = time
    sinceShift = 0
    bias = 0
    oneSided = 0
    averaged = count
  }

  /// Returns false if the beat was shifted in the same direction shortly before: such repeated shifts are
  /// another tempo.
  func mayShift(by time: Double) -> Bool {
    sinceShift > Self.shiftMemory || time * lastShift < 0 || abs(time) > 10 * abs(lastShift)
  }

  /// Widens the loop while all clocks are on one side: the tempo moves, or a pause too short for doubt has
  /// moved the beat. Otherwise narrows it a little with each clock.
  mutating func narrowOrWiden() {
    oneSided = abs(bias) > 0.8 * noise && noise > 50 ? oneSided + 1 : 0
    if oneSided == 0 {
      bandwidth = max(Self.narrowest, bandwidth * (1 - 0.6 * clockMicros / 1e6))
    } else if averaged > 0 {
      // The shift was another tempo after all.
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

  /// A clock out of place can be recognised: not shortly after a judgement, and not among clocks that scatter
  /// widely.
  var canTell: Bool { calm == 0 && scatter < Self.scatterMax * clockMicros }

  /// Returns whether the latest clocks by themselves have the old pace.
  var hasOldPace: Bool {
    guard let line = line(through: Self.witnesses) else { return false }
    return abs(line.slope - clockMicros) <= Self.slopeNoise * max(max(line.scatter, scatter), Self.leastNoise)
  }

  /// Computes the number of the next clock. Counts clocks that were lost since the doubt began, and leaves
  /// out surplus ones.
  mutating func recount(each clockMicros: Double) {
    number = doubt.number
    for index in recentCount - doubt.clocks..<recentCount {
      let isFirst = index == recentCount - doubt.clocks
      let gap = isFirst ? doubt.gap : recent[index].time - recent[index - 1].time
      number &+= clocks(in: gap, each: clockMicros)
    }
  }

  /// The number of clocks that a gap stands for: whole ones were lost, a half one was a pause.
  func clocks(in gap: Double, each clockMicros: Double) -> Int64 {
    let clocks = gap / clockMicros
    let whole = Int64(rounding: clocks)
    return abs(clocks - Double(whole)) <= Self.nearlyWhole ? whole : max(1, Int64(flooring: clocks))
  }

  /// Recognises another tempo. Each of its clocks is out of place, or by chance in the place of another
  /// clock. Lost clocks look similar, but these are even. Counted one by one they get their right numbers.
  mutating func takeOtherPace() {
    let count = Self.otherPaceClocks
    guard let line = line(through: count), isOtherPace(line), isAllOdd(count) else { return }
    number = recent[recentCount - count].number &+ Int64(count)
    begin(at: line, count)
  }

  /// Returns whether each of the last `count` clocks is at another pace, and not only one of them.
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
