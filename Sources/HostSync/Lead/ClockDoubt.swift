// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// What a clock that is out of place means. It is not believed until it is seen what comes of it, and meanwhile the loop
/// coasts: clocks at another pace are another tempo, and those at the old one, all off by the same, come after a pause.
extension ClockLoop {
  /// Further from its place than so many times what is usual, a clock is doubted; and nothing is usual below that.
  static let usual: Double = 4
  static let leastNoise: Double = 25
  /// After so many clocks it is seen what it meant, or that it meant nothing: so many in a row are back in place.
  static let witnesses: Int = 7
  static let backInPlace: Int = 2
  /// The slope of so many clocks is this much of their noise off at most (five times its deviation and more).
  static let slopeNoise: Double = 1.3
  /// A second shift the same way within so many clocks is no second pause.
  static let shiftMemory: Int = 96
  /// Clocks that are in place to such a share of their distance tell a tempo in a few.
  static let fineNoise: Double = 0.01
  /// Beyond such a share nothing can be called out of place.
  static let scatterMax: Double = 0.055
  /// A gap this near to whole clocks is of lost ones.
  static let nearlyWhole: Double = 0.25
  /// For so many clocks after a judgement nothing is doubted: what is wrong now is no accident.
  static let calmClocks: Int = 24

  /// How things were before a clock that was out of place.
  struct Doubt: BitwiseCopyable {
    /// Clocks since then, that one among them; 0: there is no doubt.
    var clocks = 0
    var inPlace = 0
    /// Microseconds from the clock before.
    var gap = 0.0
    var number: Int64 = 0
  }

  mutating func beginDoubt(gap: Double) {
    doubt.inPlace = 0
    doubt.gap = gap
    doubt.number = number
    doubt.clocks = 1
  }

  /// One more clock since the one that was out of place, that one first. Meanwhile the loop coasts.
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
      // Something was out of place just before that.
      judge(line, Self.otherPaceClocks)
    } else {
      doubt.clocks = 0
      calm = Self.calmClocks
    }
  }

  func isOtherPace(_ line: Line) -> Bool {
    abs(line.slope - clockMicros) > Self.otherPace * min(line.slope, clockMicros)
  }

  /// Another tempo, or a pause.
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
      // Another tempo, and these few can't say which.
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

  /// The beat is elsewhere, by so many clocks' word; the tempo has nothing to do with it.
  mutating func shift(by time: Double, _ count: Int) {
    jumps &+= 1
    due += time
    lastShift = time
    sinceShift = 0
    bias = 0
    oneSided = 0
    averaged = count
  }

  /// What has to be shifted as far the same way again and again is of another tempo.
  func mayShift(by time: Double) -> Bool {
    sinceShift > Self.shiftMemory || time * lastShift < 0 || abs(time) > 10 * abs(lastShift)
  }

  /// All on one side: the tempo moves, or a pause too short for doubt has moved the beat. Else a little narrower with
  /// each clock.
  mutating func narrowOrWiden() {
    oneSided = abs(bias) > 0.8 * noise && noise > 50 ? oneSided + 1 : 0
    if oneSided == 0 {
      bandwidth = max(Self.narrowest, bandwidth * (1 - 0.6 * clockMicros / 1e6))
    } else if averaged > 0 {
      // It was another tempo after all.
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

  /// What is out of place can be told from what is usual: not among clocks that are strewn about anyhow.
  var canTell: Bool { calm == 0 && scatter < Self.scatterMax * clockMicros }

  /// What the latest clocks themselves say.
  var hasOldPace: Bool {
    guard let line = line(through: Self.witnesses) else { return false }
    return abs(line.slope - clockMicros) <= Self.slopeNoise * max(max(line.scatter, scatter), Self.leastNoise)
  }

  /// The number of the next clock, with what was lost since the doubt began, and without what was too many.
  mutating func recount(each clockMicros: Double) {
    number = doubt.number
    for index in recentCount - doubt.clocks..<recentCount {
      let isFirst = index == recentCount - doubt.clocks
      let gap = isFirst ? doubt.gap : recent[index].time - recent[index - 1].time
      number &+= clocks(in: gap, each: clockMicros)
    }
  }

  /// How many clocks a gap stands for: whole ones were lost, a half one was a pause.
  func clocks(in gap: Double, each clockMicros: Double) -> Int64 {
    let clocks = gap / clockMicros
    let whole = Int64(rounding: clocks)
    return abs(clocks - Double(whole)) <= Self.nearlyWhole ? whole : max(1, Int64(flooring: clocks))
  }

  /// The clocks of another tempo are each on a wrong place, and some by chance on a right one: what tells them from
  /// lost ones is that they are even. Counted one by one they have their numbers back.
  mutating func takeOtherPace() {
    let count = Self.otherPaceClocks
    guard let line = line(through: count), isOtherPace(line), isAllOdd(count) else { return }
    number = recent[recentCount - count].number &+ Int64(count)
    begin(at: line, count)
  }

  /// All of the last so many clocks, and not one that makes it for all.
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
