// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// A sequencer's MIDI clock, made smooth: a second-order loop through the times of its clocks, which USB and drivers
/// move about by a millisecond and more (facts: jack 14). It knows the tempo, and after Start or Continue the beat.
///
/// It begins with a straight line through the first clocks, then follows with a bandwidth that narrows while all is
/// steady and widens when the clocks stay on one side: a ramp is followed, jitter is not. A clock that was lost is
/// counted all the same; one too many is not.
///
/// A clock that is out of place is not believed until it is seen what came of it (`ClockDoubt.swift`): clocks at
/// another pace restart the loop without losing count; clocks at the same pace, after a pause of half a clock, move the
/// beat and leave the tempo; and a single one that was late leaves both.
public struct ClockLoop: BitwiseCopyable {
  public enum State: UInt8, Sendable, BitwiseCopyable {
    /// Nothing came yet.
    case silent
    case acquiring, locked
    /// The clocks stopped coming.
    case lost
  }

  static let perBeat: Double = 24
  /// Clocks through which the first line is drawn.
  static let seeds: Int = 7
  /// Hertz: just begun or in a ramp, and settled.
  static let widest: Double = 2
  static let narrowest: Double = 0.15
  static let settledBandwidth: Double = 0.5
  /// Microseconds between two clocks: 10 and 1250 BPM.
  static let shortest: Double = 2_000
  static let longest: Double = 250_000
  /// Silence for so many clocks, and so many microseconds, is the end.
  static let patienceInClocks: Double = 6.5
  static let patienceMicros: Double = 250_000
  /// So many clocks in a row at another pace are another tempo, if the pace differs by so much of itself.
  static let otherPaceClocks: Int = 5
  static let otherPace: Double = 0.12
  public internal(set) var state = State.silent
  /// Start or Continue came, and no Stop since.
  public private(set) var isRunning = false

  /// The number of the next clock since the song's start, and when it is due.
  var number: Int64 = 0
  var due = 0.0
  var clockMicros = 0.0
  var bandwidth = 0.0
  private var last = 0.0
  /// Averages of the distance from where a clock was due, with and without its sign, and of what it differs from the first.
  var bias = 0.0
  var noise = 0.0
  var scatter = 0.0
  /// Clocks that the distance was on one side for.
  var oneSided = 0
  var settled = 0
  /// The latest clocks, newest last, as they were counted then.
  var recent = InlineArray<8, Heard>(repeating: Heard(time: 0, number: 0))
  var recentCount = 0
  var doubt = Doubt()
  var calm = 0
  /// The beat was shifted, by so many clocks' word; until it is that of many, they are averaged. 0: it was not.
  var averaged = 0
  var lastShift = 0.0
  var sinceShift = 0
  /// How often the beat was found to be elsewhere.
  var jumps: UInt64 = 0
  /// Start or Continue came: the next clock is the one that it spoke of, whenever it comes.
  private var isBeginning = false
  /// Where Continue goes on.
  private var resumption: Int64 = 0

  struct Heard: BitwiseCopyable {
    var time: Double
    var number: Int64
  }

  /// 0 while there is none.
  public var beatsPerMinute: Double { isTracking ? 60e6 / (clockMicros * Self.perBeat) : 0 }

  var isTracking: Bool {
    switch state {
    case .silent, .lost: false
    case .acquiring, .locked: clockMicros > 0
    }
  }

  /// The song's beat at a time near now. Only while tracking.
  func beat(at time: Double) -> Double {
    (Double(number) - (due - time) / clockMicros) / Self.perBeat
  }

  // MARK: what came in [audio]

  mutating func start() {
    resumption = 0
    resume()
  }

  mutating func resume() {
    number = resumption
    isRunning = true
    isBeginning = true
    // What came before counted from elsewhere.
    recentCount = 0
    doubt.clocks = 0
  }

  mutating func stop() {
    if isRunning { resumption = number }
    isRunning = false
  }

  mutating func locate(sixteenth: Int64) {
    resumption = sixteenth &* 6
  }

  /// A clock at this time.
  mutating func clock(at time: Double) {
    if time <= last { return }
    let gap = time - last
    last = time
    guard isTracking else {
      state = .acquiring
      isBeginning = false
      count(time)
      if recentCount >= Self.seeds { seed(Self.seeds) }
      return
    }
    var steps = Int64(rounding: (time - due) / clockMicros)
    if isBeginning {
      due += Double(steps) * clockMicros
      steps = 0
    }
    let distance = time - due - Double(steps) * clockMicros
    let isInPlace = steps == 0 && abs(distance - bias) <= Self.usual * max(scatter, Self.leastNoise)
    if !isInPlace, doubt.clocks == 0, canTell { beginDoubt(gap: isBeginning ? clockMicros : gap) }
    isBeginning = false
    take(time, steps)
    if doubt.clocks > 0 {
      if steps >= 0 { due += clockMicros }
      weigh(isInPlace)
    } else {
      if steps >= 0 { follow(distance) }
      calm = max(0, calm - 1)
      sinceShift = min(Self.shiftMemory + 1, sinceShift + 1)
      takeOtherPace()
    }
  }

  /// On another one's place: those between were lost, or this one is too many.
  private mutating func take(_ time: Double, _ steps: Int64) {
    guard steps >= 0 else { return remember(time) }
    number &+= steps
    due += Double(steps) * clockMicros
    count(time)
  }

  /// Time passes without a clock.
  mutating func tick(at time: Double) {
    switch state {
    case .silent, .lost: return
    case .acquiring, .locked: break
    }
    let step = clockMicros > 0 ? clockMicros : Self.longest
    guard time - last > max(Self.patienceMicros, Self.patienceInClocks * step) else { return }
    state = .lost
    clockMicros = 0
    recentCount = 0
    doubt.clocks = 0
    calm = 0
    averaged = 0
    // How many went by is not known: the beat is, again, after the next Start or Continue.
    stop()
  }

  // MARK: the loop

  private mutating func follow(_ distance: Double) {
    if averaged > 0, averaged < Self.calmClocks {
      averaged += 1
      due += clockMicros + distance / Double(averaged)
    } else {
      averaged = 0
      let omega = min(0.5, 2 * Double.pi * bandwidth * clockMicros / 1e6)
      due += clockMicros + 1.414 * omega * distance
      clockMicros = min(Self.longest, max(Self.shortest, clockMicros + omega * omega * distance))
    }
    scatter += (abs(distance - bias) - scatter) / 12
    bias += (distance - bias) / 12
    noise += (abs(distance) - noise) / 12
    narrowOrWiden()
    settled = noise < 0.2 * clockMicros ? settled + 1 : 0
    if settled > 24 { state = .locked } else if settled == 0 { state = .acquiring }
  }

  /// Starts again from the last so many clocks, if they make a line.
  private mutating func seed(_ count: Int) {
    guard let line = line(through: count) else { return }
    begin(at: line, count)
  }

  mutating func begin(at line: Line, _ count: Int) {
    jumps &+= 1
    clockMicros = line.slope
    due = line.middle + Double(count + 1) / 2 * clockMicros
    bandwidth = Self.widest
    averaged = 0
    bias = 0
    noise = 0.1 * clockMicros
    scatter = noise
    renumber(count)
  }

  /// The last ones are counted from here.
  mutating func renumber(_ count: Int) {
    for index in 0..<count { recent[recentCount - count + index].number = number &- Int64(count - index) }
  }

  /// Evenly spaced clocks: when the middle of them came, how far apart they are, and how far from their places.
  struct Line: BitwiseCopyable {
    var middle: Double
    var slope: Double
    var scatter: Double
  }

  /// Through the last so many clocks; nil if they make none.
  func line(through count: Int) -> Line? {
    let first = recentCount - count
    guard first >= 0 else { return nil }
    let half = Double(count - 1) / 2
    let base = recent[first].time
    var slope = 0.0, mean = 0.0, weight = 0.0
    for index in 0..<count {
      let place = Double(index) - half
      slope += place * (recent[first + index].time - base)
      mean += (recent[first + index].time - base) / Double(count)
      weight += place * place
    }
    slope /= weight
    guard slope >= Self.shortest, slope <= Self.longest else { return nil }
    var scatter = 0.0
    for index in 0..<count {
      let time = recent[first + index].time
      if index > 0, abs(time - recent[first + index - 1].time - slope) > 0.4 * slope { return nil }
      scatter += abs(time - base - mean - (Double(index) - half) * slope) / Double(count)
    }
    return Line(middle: base + mean, slope: slope, scatter: scatter)
  }

  /// The next clock of the song.
  private mutating func count(_ time: Double) {
    remember(time)
    number &+= 1
  }

  private mutating func remember(_ time: Double) {
    if recentCount == 8 {
      for index in 1..<8 { recent[index - 1] = recent[index] }
      recentCount = 7
    }
    recent[recentCount] = Heard(time: time, number: number)
    recentCount += 1
  }
}
