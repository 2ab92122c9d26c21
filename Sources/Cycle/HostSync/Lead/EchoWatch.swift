// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// Distinguishes our own MIDI clock, which comes back through a cable or a machine, from a sequencer's.
///
/// Some seconds of sent and received clocks are kept and compared at each delay that a cable may have. While
/// both are even, the two cannot be distinguished, and need not be. If our clock bent (an offset, a peer's
/// tempo, a correction) and the received one bent with it at a constant delay, it is ours; a sequencer goes
/// straight on. When we take over a sequencer's tempo, our clock bends later than the sequencer's, so clocks
/// of that time are not judged.
///
/// A clock that claims another tempo than the session's must also have moved against all that we sent, as far
/// as that tempo would have moved it. An echo never does, whatever the loop makes of a cable's jitter and our
/// own jumps.
///
/// A Start that comes soon after our own may be ours. It is ours if its delay is that of the clocks. Until
/// that is known, it is not followed.
struct EchoWatch: BitwiseCopyable {
  /// Microseconds of an echo's delay at most, buffers included. An echo within the same buffer may seem to
  /// come too early.
  static let longestWay: Double = 250_000
  static let soonest: Double = -1_000
  /// Microseconds between two received clocks that are kept: a fast clock need not be kept whole.
  static let apart: Int32 = 18_000
  /// The stretch that is compared: `window` microseconds, at most `most` received and `mostSent` sent clocks,
  /// at least `few` received ones. The latest `few` must go together before the whole is compared.
  static let window: Double = 3e6
  static let most: Int = 127
  static let mostSent: Double = 800
  static let few: Int = 24
  /// Microseconds (RMS) by which an echo may deviate from its delay: a jitter of 1 ms and USB's frames
  /// together make 410.
  static let jitter: Double = 600
  /// Microseconds; smaller differences cannot be measured.
  static let grain: Double = 150
  /// The delayed copy must fit this many times better than a steady clock, in squares of the noise (about 6
  /// sigma).
  static let evidence: Double = 40
  /// A clock that claims another tempo must have moved this many microseconds, within at least `leastMoved`
  /// clocks, and must have been found so `confirmations` times in a row.
  static let move: Double = 4_000
  static let leastMoved: Int = 12
  static let confirmations: Int = 4
  /// Microseconds in which even a machine with its own inertia follows our clock after it was moved by hand
  /// (an offset, another period). Clocks of that time prove nothing.
  static let settling: Double = 3e6
  /// After a tempo was taken over, our clock follows the received one for this long.
  static let following: Double = 1e6
  /// This number of clocks shows our clocks' delay. A Start of ours deviates from it by three standard
  /// deviations at most, and never by more than `mostOffWay`.
  static let clocksOfWay: Int = 12
  static let mostOffWay: Double = 5_000

  /// The received clock is our own, until another is recognised.
  private(set) var isEcho = false
  /// The received clock may be our own, so its beat must not be followed.
  var mayBeEcho: Bool { isEcho || doubtful != nil }
  /// Microseconds of Link's clock, whole and cut to 32 bits: only differences are used.
  private var sent = InlineArray<1024, Int32>(repeating: 0)
  private var sentCount = 0
  private var heard = InlineArray<128, Int32>(repeating: 0)
  private var heardCount = 0
  /// The number of received clocks that can be compared, and since when. Earlier ones were another clock's,
  /// or our clock followed them.
  private var comparable = 0
  private var comparableFrom = -1e18
  private var lag = 0
  private var moved = 0
  /// When our latest Starts and Continues were sent.
  private var commands = InlineArray<8, Double>(repeating: -1e18)
  private var commandCount = 0
  /// When a Start came that may be ours.
  private var doubtful: Double?
  /// Microseconds from the sending of a clock until it is heard, and when that last changed.
  private var ahead = 0.0
  private var shiftedAt = -1e18

  private static func cut(_ time: Double) -> Int32 { Int32(truncatingIfNeeded: Int64(rounding: time)) }

  // MARK: what went out and came in [audio]

  mutating func send(_ status: UInt8, at time: Double) {
    switch status {
    case MIDI.clock:
      sent[sentCount & 1023] = Self.cut(time)
      sentCount += 1
    case MIDI.start, MIDI.resume:
      commands[commandCount & 7] = time
      commandCount += 1
    default: break
    }
  }

  /// Notes the microseconds from the sending of a clock until it is heard, and the cycle's length in
  /// microseconds.
  mutating func send(ahead: Double, cycle: Double, at time: Double) {
    // A latency in frames varies with the crystal, too, but less.
    if self.ahead != 0, abs(ahead + cycle - self.ahead) > Self.grain { shiftedAt = time }
    self.ahead = ahead + cycle
  }

  /// Reads a Start or Continue. A sequencer begins a new count with it; our own changes nothing.
  mutating func receiveCommand(at time: Double) {
    doubtful = nil
    for index in 0..<8 where Self.mayBeOurs(time - commands[index]) { doubtful = time }
    if doubtful == nil { isEcho = false }
  }

  private static func mayBeOurs(_ way: Double) -> Bool { way >= Self.soonest && way <= Self.longestWay }

  /// Reads a silence. The next clock is another sequencer's, and its Start may have come already.
  mutating func hearNothing() {
    isEcho = false
    heardCount = 0
    comparable = 0
    moved = 0
  }

  /// Notes that a tempo was taken over: for a while our clock follows the received one.
  mutating func follow(at time: Double) {
    comparableFrom = time + Self.following
    comparable = 0
    moved = 0
    isEcho = false
    doubtful = nil
  }

  /// Reads a clock. `tempo` is what the clock claims, `session` the session's, in beats per minute; 0:
  /// unknown.
  mutating func receive(at time: Double, tempo: Double, session: Double) {
    let now = Self.cut(time)
    if heardCount > 0, now &- heard[(heardCount - 1) & 127] < Self.apart { return }
    heard[heardCount & 127] = now
    heardCount += 1
    comparable = time > comparableFrom ? min(Self.most, comparable + 1) : 0
    let isSettled = time - shiftedAt > Self.settling
    moved = isSettled && tempo > 0 && hasMoved(as: tempo, against: session) ? moved + 1 : 0
    compare()
    judgeStart()
  }

  /// The received clock has a tempo of its own, not the one that we sent.
  var hasOwnTempo: Bool { moved >= Self.confirmations }

  // MARK: the comparison

  // These queries change nothing. They are `mutating` because otherwise the compiler copies these 5 KB for
  // each call.

  /// Compares at one delay for each received clock, in turn.
  private mutating func compare() {
    guard comparable >= Self.few else { return }
    guard let pair = pair(lag) else {
      lag = 0
      return
    }
    lag += 1
    var few = pair
    guard let near = fit(&few, 0, Self.few), near.noise <= Self.limit(near.spacing) else { return }
    let wanted = max(Self.few, Int(Self.window / interval(Self.few)))
    let count = min(min(comparable, wanted), longest(near.spacing))
    var all = pair
    guard let fit = fit(&all, 0, count), fit.noise <= Self.limit(fit.spacing) else { return }
    // The noise is white: the remainder is jitter, and not a delay that moves.
    guard fit.noise <= 1.4 * fit.roughness + 60 * 60 else { return }
    let noise = max(fit.noise, Self.grain * Self.grain)
    if fit.advantage / noise > Self.evidence { isEcho = true }
  }

  /// Decides whether a Start that may be ours has the same delay as the clocks.
  private mutating func judgeStart() {
    guard let time = doubtful, comparable > Self.clocksOfWay else { return }
    doubtful = nil
    var lag = 0
    while var pair = pair(lag) {
      lag += 1
      guard let fit = fit(&pair, 0, Self.clocksOfWay) else { continue }
      let tolerated = min(Self.mostOffWay * Self.mostOffWay, Self.grain * Self.grain + 9 * fit.noise)
      for index in 0..<8 {
        let way = time - commands[index]
        let off = way - fit.delay
        if Self.mayBeOurs(way), off * off <= tolerated { isEcho = true }
      }
    }
  }

  /// The latest received clock, and the one that was sent `lag` clocks before it; nil: that is too long ago,
  /// or none was sent.
  private mutating func pair(_ lag: Int) -> Pair? {
    guard heardCount > 0 else { return nil }
    var number = sentCount - 1
    // Skip clocks that were sent later in the same buffer.
    while isKept(number), delay(0, number) < Self.soonest { number -= 1 }
    number -= lag
    guard isKept(number), delay(0, number) <= Self.longestWay else { return nil }
    return Pair(number: number, delay: delay(0, number))
  }

  private mutating func isKept(_ number: Int) -> Bool { number >= 0 && number > sentCount - 1024 }

  /// Microseconds from sent clock `number` to received clock `index`, of which the newest is 0.
  private mutating func delay(_ index: Int, _ number: Int) -> Double {
    Double(heard[(heardCount - 1 - index) & 127] &- sent[number & 1023])
  }

  /// Microseconds between two received clocks that are kept: the mean of the latest `count`.
  private mutating func interval(_ count: Int) -> Double {
    let first = heard[(heardCount - count) & 127]
    return Double(heard[(heardCount - 1) & 127] &- first) / Double(count - 1)
  }

  /// The number of received clocks for which the sent ones are still kept.
  private mutating func longest(_ spacing: Double) -> Int {
    let kept = Self.mostSent * spacing / interval(Self.leastMoved)
    return kept < Double(Self.most) ? max(Self.leastMoved, Int(kept)) : Self.most
  }

  /// The mean square above which two clocks do not go together. It shrinks with `spacing`: of close clocks
  /// any would do.
  private static func limit(_ spacing: Double) -> Double {
    let limit = min(Self.jitter, 0.2 * spacing)
    return limit * limit
  }

  /// Returns whether the received clock has moved as this tempo implies, at each possible delay. A cable or a
  /// period that changes moves it, too, but only once, so both halves must show it.
  private mutating func hasMoved(as tempo: Double, against session: Double) -> Bool {
    let share = abs(tempo / session - 1)
    guard share > 1e-5, heardCount >= Self.leastMoved else { return false }
    let longest = longest(2.5e6 / session)
    let wanted = Self.move / (share * interval(Self.leastMoved))
    let count = wanted < Double(longest) ? max(Self.leastMoved, Int(wanted)) : longest
    var lag = 0
    while var pair = pair(lag) {
      guard heardCount >= count else { return false }
      let newer = fit(&pair, 0, count / 2)
      if let newer, Self.isOurs(newer, share) { return false }
      if newer != nil, let older = fit(&pair, count / 2, count / 2), Self.isOurs(older, share) {
        return false
      }
      lag += 1
    }
    return true
  }

  /// Returns whether the clock is a copy of ours: it moves by less than half of what is claimed, or than its
  /// jitter can feign.
  private static func isOurs(_ fit: Fit, _ share: Double) -> Bool {
    // Mere jitter is a copy, too: a machine that wakes up late is not another clock. Another tempo bends
    // smoothly.
    let near = 0.2 * fit.spacing
    let isWhite = fit.noise <= 1.4 * fit.roughness + 60 * 60
    guard fit.noise <= limit(fit.spacing) || (isWhite && fit.noise <= near * near) else { return false }
    let slope = fit.slope * fit.slope
    return slope < share * share / 4 * fit.spacing * fit.spacing || slope < 9 * fit.slopeNoise
  }

  /// The number of a sent clock, and the delay until a received one came.
  private struct Pair: BitwiseCopyable {
    var number: Int
    var delay: Double
  }

  /// Compares a stretch of received clocks with the sent ones, newest first, from `pair` on. Afterwards
  /// `pair` is the next one. nil: not enough clocks were sent, or a sent clock would stand for many received
  /// ones.
  private mutating func fit(_ pair: inout Pair, _ first: Int, _ count: Int) -> Fit? {
    var sums = Sums()
    let origin = pair.number
    let base = sent[origin & 1023]
    var twice = 0
    var before = 0.0
    for index in first..<first + count {
      let last = pair.number
      while isKept(pair.number - 1),
        abs(delay(index, pair.number - 1) - pair.delay) < abs(delay(index, pair.number) - pair.delay)
      {
        pair.number -= 1
      }
      let delay = delay(index, pair.number)
      if index > first {
        if pair.number == last { twice += 1 }
        sums.roughness += (delay - before) * (delay - before)
      }
      before = delay
      pair.delay += (delay - pair.delay) / 8
      sums.add(Double(pair.number - origin), Double(sent[pair.number & 1023] &- base), delay)
    }
    guard isKept(pair.number - 1), twice * 8 <= count else { return nil }
    return Fit(sums)
  }
}
