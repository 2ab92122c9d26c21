// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// Smooths a sequencer's MIDI clock by a second-order loop through the times of the clock messages, which USB
/// and drivers delay by a millisecond and more (facts: jack 14). The loop finds the tempo, and after Start or
/// Continue also the beat.
///
/// The loop begins with a straight line through the first clock messages. Its bandwidth narrows while the
/// messages are steady, and widens while all of them are early or all are late. So the loop follows a ramp of
/// the tempo, and ignores jitter. The loop counts a message that was lost, and does not count a surplus
/// message.
///
/// The loop ignores a clock message at an unexpected time until the next messages show what happened
/// (`ClockDoubt.swift`). Messages at another pace restart the loop, but the count of the messages goes on.
/// Messages at the same pace after a pause of half an interval move the beat and leave the tempo. A single
/// late message changes neither beat nor tempo.
///
/// The struct has more than 20 properties, because the loop and `ClockDoubt.swift` share the state of one
/// filter.
public struct ClockLoop: BitwiseCopyable {
  public enum State: UInt8, Sendable, BitwiseCopyable {
    /// No clock message has come yet.
    case silent
    case acquiring, locked
    /// Clock messages have stopped coming.
    case lost
  }

  static let perBeat: Double = 24
  /// The number of clock messages through which the loop's first line is drawn.
  static let seeds: Int = 7
  /// The bandwidths of the loop in hertz. The loop has the bandwidth `widest` when it has just begun, or in a
  /// ramp of the tempo. Below `settledBandwidth` the loop counts as settled.
  static let widest: Double = 2
  static let narrowest: Double = 0.15
  static let settledBandwidth: Double = 0.5
  /// The shortest and the longest time between two clock messages, in microseconds: at 1250 and at 10 BPM.
  static let shortest: Double = 2_000
  static let longest: Double = 250_000
  /// The clock is lost after a silence that is longer than this number of clock intervals and also longer
  /// than `silenceMicros`.
  static let silenceInClocks: Double = 6.5
  static let silenceMicros: Double = 250_000
  /// The number of clock messages in a row at another pace that prove a change of tempo. The pace must differ
  /// by the share `otherPace`.
  static let otherPaceClocks: Int = 5
  static let otherPace: Double = 0.12
  public internal(set) var state = State.silent
  /// Whether Start or Continue came, and no Stop since then.
  public private(set) var isRunning = false

  /// The number of the next clock message, counted from the song's start. `due` is the time at which that
  /// message is expected.
  var number: Int64 = 0
  var due = 0.0
  var clockMicros = 0.0
  var bandwidth = 0.0
  private var last = 0.0
  /// Averages over the clock messages' errors. An error is the time by which a message came later than
  /// expected. `bias` averages the errors, `noise` their absolute values, and `scatter` their distances from
  /// `bias`.
  var bias = 0.0
  var noise = 0.0
  var scatter = 0.0
  /// The number of clock messages in a row that were all early or all late.
  var oneSided = 0
  var settled = 0
  /// The latest clock messages, the newest last, with the numbers that they had when they came.
  var recent = InlineArray<8, Heard>(repeating: Heard(time: 0, number: 0))
  var recentCount = 0
  var doubt = Doubt()
  var calm = 0
  /// The number of clock messages over which the beat's new place has been averaged since the last shift of
  /// the beat; 0: there is no averaging. Up to `calmClocks` messages are averaged.
  var averaged = 0
  var lastShift = 0.0
  var sinceShift = 0
  /// How often the loop began a new line or shifted the beat.
  var jumps: UInt64 = 0
  /// Whether Start or Continue has just come. The clock message after it is the song's first one, whenever
  /// that message comes.
  private var isBeginning = false
  /// The number of the clock message at which the song goes on after Continue.
  private var resumption: Int64 = 0

  struct Heard: BitwiseCopyable {
    var time: Double
    var number: Int64
  }

  /// The tempo of the received clock; 0: unknown.
  public var beatsPerMinute: Double { isTracking ? 60e6 / (clockMicros * Self.perBeat) : 0 }

  var isTracking: Bool {
    switch state {
    case .silent, .lost: false
    case .acquiring, .locked: clockMicros > 0
    }
  }

  /// The song's beat at a time near the present. Only valid while `isTracking`.
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
    // Clock messages from before this Start or Continue were counted from another beginning, so they cannot
    // be compared with later messages.
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
    accept(time, steps)
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

  /// Takes a clock message into the loop. `steps` is the number of messages lost before it; below 0: the
  /// message is surplus.
  private mutating func accept(_ time: Double, _ steps: Int64) {
    guard steps >= 0 else { return remember(time) }
    number &+= steps
    due += Double(steps) * clockMicros
    count(time)
  }

  /// Ends the tracking if no clock message has come for too long.
  mutating func tick(at time: Double) {
    switch state {
    case .silent, .lost: return
    case .acquiring, .locked: break
    }
    let step = clockMicros > 0 ? clockMicros : Self.longest
    guard time - last > max(Self.silenceMicros, Self.silenceInClocks * step) else { return }
    state = .lost
    clockMicros = 0
    recentCount = 0
    doubt.clocks = 0
    calm = 0
    averaged = 0
    // The number of missed clock messages is unknown, so the beat is unknown until the next Start or
    // Continue.
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

  /// Starts the loop anew from the last `count` clock messages, if they are evenly spaced.
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

  /// Numbers the last `count` clock messages, backwards from the number of the next message.
  mutating func renumber(_ count: Int) {
    for index in 0..<count { recent[recentCount - count + index].number = number &- Int64(count - index) }
  }

  /// A row of evenly spaced clock messages: `middle` is the time of the row's middle, `slope` the time from
  /// message to message, `scatter` the messages' mean distance from even spacing.
  struct Line: BitwiseCopyable {
    var middle: Double
    var slope: Double
    var scatter: Double
  }

  /// The line through the last `count` clock messages; nil: they are not evenly spaced.
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

  /// Remembers a clock message and advances the count.
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
