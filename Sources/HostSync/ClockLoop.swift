// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// A sequencer's MIDI clock, made smooth: a second-order loop through the times of its clocks, which USB and drivers
/// move about by a millisecond and more (jack-and-peers 5.6). It knows the tempo, and after Start or Continue the beat.
///
/// It begins with a straight line through the first clocks, then follows with a bandwidth that narrows while all is
/// steady and widens when the clocks stay on one side: a ramp is followed, jitter is not. A clock that was lost is
/// counted all the same; one too many is not. Clocks at another pace begin it anew without losing count.
public struct ClockLoop: BitwiseCopyable {
  public enum State: UInt8, Sendable, BitwiseCopyable {
    /// Nothing came yet.
    case silent
    case acquiring, locked
    /// The clocks stopped coming.
    case lost
  }

  static var perBeat: Double { @_noLocks @_noAllocation get { 24 } }
  /// Clocks through which the first line is drawn.
  static var seeds: Int { @_noLocks @_noAllocation get { 7 } }
  /// Hertz: just begun or in a ramp, and settled.
  static var widest: Double { @_noLocks @_noAllocation get { 2 } }
  static var narrowest: Double { @_noLocks @_noAllocation get { 0.15 } }
  /// Microseconds between two clocks: 10 and 1250 BPM.
  static var shortest: Double { @_noLocks @_noAllocation get { 2_000 } }
  static var longest: Double { @_noLocks @_noAllocation get { 250_000 } }
  /// Silence for so many clocks, and so many microseconds, is the end.
  static var patienceInClocks: Double { @_noLocks @_noAllocation get { 6.5 } }
  static var patience: Double { @_noLocks @_noAllocation get { 250_000 } }
  /// So many clocks in a row at another pace are another tempo, if the pace differs by so much of itself.
  static var pacers: Int { @_noLocks @_noAllocation get { 5 } }
  static var otherPace: Double { @_noLocks @_noAllocation get { 0.12 } }

  public private(set) var state = State.silent
  /// Start or Continue came, and no Stop since.
  public private(set) var isRunning = false
  /// Clocks that did not come, or came too often.
  public private(set) var missed: UInt64 = 0
  public private(set) var extra: UInt64 = 0

  /// The number of the next clock since the song's start, and when it is due.
  private var number: Int64 = 0
  private var due = 0.0
  private var period = 0.0
  private var bandwidth = 0.0
  private var last = 0.0
  /// Averages of the distance from where a clock was due, with and without its sign.
  private var bias = 0.0
  private var noise = 0.0
  private var settled = 0
  /// The latest clocks, newest last, as they were counted then.
  private var recent = InlineArray<8, Heard>(repeating: Heard(time: 0, number: 0, missed: 0))
  private var recentCount = 0
  /// Where Continue goes on.
  private var resumption: Int64 = 0

  private struct Heard: BitwiseCopyable {
    var time: Double
    var number: Int64
    var missed: UInt64

    @_noLocks @_noAllocation
    init(time: Double, number: Int64, missed: UInt64) {
      self.time = time
      self.number = number
      self.missed = missed
    }
  }

  @_noLocks @_noAllocation
  init() {}

  /// 0 while there is none.
  public var beatsPerMinute: Double {
    @_noLocks @_noAllocation get { isTracking ? 60e6 / (period * Self.perBeat) : 0 }
  }

  var isTracking: Bool {
    @_noLocks @_noAllocation get {
      switch state {
      case .silent, .lost: false
      case .acquiring, .locked: period > 0
      }
    }
  }

  /// The song's beat at a time near now. Only while tracking.
  @_noLocks @_noAllocation
  func beat(at time: Double) -> Double {
    (Double(number) - (due - time) / period) / Self.perBeat
  }

  // MARK: what came in [audio]

  @_noLocks @_noAllocation
  mutating func start() {
    resumption = 0
    resume()
  }

  @_noLocks @_noAllocation
  mutating func resume() {
    number = resumption
    isRunning = true
    // What came before counted from elsewhere.
    recentCount = 0
  }

  @_noLocks @_noAllocation
  mutating func stop() {
    if isRunning { resumption = number }
    isRunning = false
  }

  @_noLocks @_noAllocation
  mutating func locate(sixteenth: Int64) {
    resumption = sixteenth &* 6
  }

  /// A clock at this time.
  @_noLocks @_noAllocation
  mutating func clock(at time: Double) {
    if time <= last { return }
    last = time
    guard isTracking else {
      state = .acquiring
      count(time)
      if recentCount >= Self.seeds { seed(Self.seeds) }
      return
    }
    let distance = time - due
    let steps = Int64(rounding: distance / period)
    // On another one's place: those between were lost, or this one is too many.
    if steps >= 0 {
      missed &+= UInt64(steps)
      number &+= steps
      due += Double(steps) * period
      count(time)
      follow(distance - Double(steps) * period)
    } else {
      extra &+= 1
      remember(time)
    }
    changePace()
  }

  /// Time passes without a clock.
  @_noLocks @_noAllocation
  mutating func tick(at time: Double) {
    switch state {
    case .silent, .lost: return
    case .acquiring, .locked: break
    }
    let step = period > 0 ? period : Self.longest
    guard time - last > max(Self.patience, Self.patienceInClocks * step) else { return }
    state = .lost
    period = 0
    recentCount = 0
    // How many went by is not known: the beat is, again, after the next Start or Continue.
    stop()
  }

  // MARK: the loop

  /// The clocks of another tempo are each on a wrong place, and some by chance on a right one: what tells them from
  /// lost ones is that they are even. Counted one by one they have their numbers back.
  @_noLocks @_noAllocation
  private mutating func changePace() {
    let count = Self.pacers
    guard recentCount >= count else { return }
    let first = recent[recentCount - count]
    let pace = (recent[recentCount - 1].time - first.time) / Double(count - 1)
    guard abs(pace - period) > Self.otherPace * min(pace, period) else { return }
    let known = number
    let before = missed
    number = first.number &+ Int64(count)
    missed = first.missed
    guard !seed(count) else { return }
    number = known
    missed = before
  }

  @_noLocks @_noAllocation
  private mutating func follow(_ distance: Double) {
    let omega = min(0.5, 2 * Double.pi * bandwidth * period / 1e6)
    due += period + 1.414 * omega * distance
    period = min(Self.longest, max(Self.shortest, period + omega * omega * distance))
    bias += (distance - bias) / 12
    noise += (abs(distance) - noise) / 12
    // All on one side: the tempo moves. Else a little narrower with each clock.
    if abs(bias) > 0.8 * noise, noise > 50 {
      bandwidth = min(Self.widest, bandwidth * 1.5)
    } else {
      bandwidth = max(Self.narrowest, bandwidth * (1 - 0.6 * period / 1e6))
    }
    settled = noise < 0.2 * period ? settled + 1 : 0
    if settled > 24 { state = .locked } else if settled == 0 { state = .acquiring }
  }

  /// Begins anew from the last so many clocks, if they make a line.
  @_noLocks @_noAllocation @discardableResult
  private mutating func seed(_ count: Int) -> Bool {
    let first = recentCount - count
    guard first >= 0 else { return false }
    let middle = Double(count - 1) / 2
    let base = recent[first].time
    var slope = 0.0, mean = 0.0, weight = 0.0
    for index in 0..<count {
      let place = Double(index) - middle
      slope += place * (recent[first + index].time - base)
      mean += (recent[first + index].time - base) / Double(count)
      weight += place * place
    }
    slope /= weight
    guard slope >= Self.shortest, slope <= Self.longest else { return false }
    for index in 1..<count {
      let interval = recent[first + index].time - recent[first + index - 1].time
      if abs(interval - slope) > 0.4 * slope { return false }
    }
    period = slope
    due = base + mean + (middle + 1) * slope
    bandwidth = Self.widest
    bias = 0
    noise = 0.1 * slope
    // The next ones are counted from here.
    for index in 0..<count { recent[first + index].number = number &- Int64(count - index) }
    return true
  }

  /// The next clock of the song.
  @_noLocks @_noAllocation
  private mutating func count(_ time: Double) {
    remember(time)
    number &+= 1
  }

  @_noLocks @_noAllocation
  private mutating func remember(_ time: Double) {
    if recentCount == 8 {
      for index in 1..<8 { recent[index - 1] = recent[index] }
      recentCount = 7
    }
    recent[recentCount] = Heard(time: time, number: number, missed: missed)
    recentCount += 1
  }
}
