// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// Tells our own MIDI clock that comes back through a cable or a machine from a sequencer's.
///
/// What was sent and what came in are kept, some seconds of it, and laid over each other at each delay that a cable may
/// have. While both go on evenly nothing can be told, and nothing need be. But when what we sent bent (an offset, a peer's
/// tempo, a correction) and what came in bent with it at a constant delay, it is ours; a sequencer goes on straight.
/// A sequencer's tempo that we took over bends what we send, too, only later: where we followed, nothing is judged.
///
/// And a clock that claims another tempo than the session's must have moved against all that we sent as much as that tempo
/// would have moved it. An echo never does, whatever the loop behind it makes of a cable's jitter and our own jumps.
///
/// A Start that comes soon after our own may be ours. It is if it was on its way for as long as the clocks are; until that is
/// known nobody goes by it.
struct EchoWatch: BitwiseCopyable {
  /// Microseconds on the way there and back, buffers included. Sent within the same buffer it may seem to come too soon.
  static let longestWay: Double = 250_000
  static let soonest: Double = -1_000
  /// Of a fast clock not every one is kept of what came in: so long apart are enough.
  static let apart: Int32 = 18_000
  /// As much as is compared at once, so many of what came in and as many as were sent meanwhile; at least so long and a
  /// few. The latest few alone say whether the two go together.
  static let window: Double = 3e6
  static let most: Int = 127
  static let mostSent: Double = 800
  static let few: Int = 24
  /// How far, in the mean, an echo may be from its delay: a millisecond's jitter and USB's frames together are 0.41.
  static let jitter: Double = 600
  /// Nearer than this nothing is measured.
  static let grain: Double = 150
  /// So many times better than straight on must the delayed copy fit, in squares of the noise (about 6 deviations).
  static let evidence: Double = 40
  /// What claims another tempo must have moved so far, and have done so for so many clocks in a row.
  static let move: Double = 4_000
  static let leastMoved: Int = 12
  static let confirmations: Int = 4
  /// Moved by hand (an offset, another period), what we send takes even a machine's own wheels along for so long.
  static let settling: Double = 3e6
  /// What we send follows what came in for so long after a tempo was taken over.
  static let following: Double = 1e6
  /// So many clocks tell how long ours are on their way. A Start of ours differs from them by three of their deviations at
  /// most, and never by more than this.
  static let clocksOfWay: Int = 12
  static let mostOffWay: Double = 5_000

  /// It is our own clock, until something shows another.
  private(set) var isEcho = false
  /// It may be: its beat is nobody's to follow.
  var mayBeEcho: Bool { isEcho || doubtful != nil }
  /// Microseconds of Link's clock, whole and cut to 32 bits: only distances count.
  private var sent = InlineArray<1024, Int32>(repeating: 0)
  private var sentCount = 0
  private var heard = InlineArray<128, Int32>(repeating: 0)
  private var heardCount = 0
  /// Since then there were so many, and what came in before was of another clock, or was followed.
  private var comparable = 0
  private var comparableFrom = -1e18
  private var lag = 0
  private var moved = 0
  /// When our latest Starts and Continues were sent.
  private var commands = InlineArray<8, Double>(repeating: -1e18)
  private var commandCount = 0
  /// When a Start came that may be ours.
  private var doubtful: Double?
  /// How long before it is heard a clock is sent, and when that changed last.
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

  /// How long before it is heard a clock is sent in this cycle, in microseconds, and how long the cycle is.
  mutating func send(ahead: Double, cycle: Double, at time: Double) {
    // A latency in frames is a crystal's matter, too.
    if self.ahead != 0, abs(ahead + cycle - self.ahead) > Self.grain { shiftedAt = time }
    self.ahead = ahead + cycle
  }

  /// Start or Continue: a sequencer's count starts again, our own means nothing.
  mutating func hearCommand(at time: Double) {
    doubtful = nil
    for index in 0..<8 where Self.mayBeOurs(time - commands[index]) { doubtful = time }
    if doubtful == nil { isEcho = false }
  }

  private static func mayBeOurs(_ way: Double) -> Bool { way >= Self.soonest && way <= Self.longestWay }

  /// There is silence, and the next clock is another sequencer's. Their Start may have come already.
  mutating func hearNothing() {
    isEcho = false
    heardCount = 0
    comparable = 0
    moved = 0
  }

  /// A tempo was taken over: for a while what we send follows what comes in.
  mutating func follow(at time: Double) {
    comparableFrom = time + Self.following
    comparable = 0
    moved = 0
    isEcho = false
    doubtful = nil
  }

  /// A clock; what it and the session claim as tempo, in beats per minute, 0 while it has none.
  mutating func hear(at time: Double, tempo: Double, session: Double) {
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

  /// It has a tempo of its own, that is not what we sent.
  var hasOwnTempo: Bool { moved >= Self.confirmations }

  // MARK: the comparison

  // Its questions change nothing and are `mutating` all the same: else the compiler copies these 5 KB for each of them.

  /// One delay a clock: they take turns.
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
    // White: what is left is jitter, and no delay that moves.
    guard fit.noise <= 1.4 * fit.roughness + 60 * 60 else { return }
    let noise = max(fit.noise, Self.grain * Self.grain)
    if fit.advantage / noise > Self.evidence { isEcho = true }
  }

  /// Whether a Start that may be ours came as long after one of ours as the clocks come after ours.
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

  /// What came in last and what was sent so many clocks before it; nil: that is too long ago, or nothing was sent.
  private mutating func pair(_ lag: Int) -> Pair? {
    guard heardCount > 0 else { return nil }
    var number = sentCount - 1
    // Sent later in the same buffer.
    while isKept(number), delay(0, number) < Self.soonest { number -= 1 }
    number -= lag
    guard isKept(number), delay(0, number) <= Self.longestWay else { return nil }
    return Pair(number: number, delay: delay(0, number))
  }

  private mutating func isKept(_ number: Int) -> Bool { number >= 0 && number > sentCount - 1024 }

  /// From a clock that was sent to one that came in, the newest being 0.
  private mutating func delay(_ index: Int, _ number: Int) -> Double {
    Double(heard[(heardCount - 1 - index) & 127] &- sent[number & 1023])
  }

  /// Microseconds from one that is kept of what came in to the next, lately.
  private mutating func interval(_ count: Int) -> Double {
    let first = heard[(heardCount - count) & 127]
    return Double(heard[(heardCount - 1) & 127] &- first) / Double(count - 1)
  }

  /// Of what came in, as far as what was sent is kept.
  private mutating func longest(_ spacing: Double) -> Int {
    let kept = Self.mostSent * spacing / interval(Self.leastMoved)
    return kept < Double(Self.most) ? max(Self.leastMoved, Int(kept)) : Self.most
  }

  /// Squared: beyond it two clocks don't go together. Between two that are near, anything goes with either.
  private static func limit(_ spacing: Double) -> Double {
    let limit = min(Self.jitter, 0.2 * spacing)
    return limit * limit
  }

  /// Whether it has moved as this tempo would have in the latest clocks, against each delay of what we sent. A cable or a
  /// period that changes moves it, too, but only once: so it must be so in both halves.
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

  /// It goes together, and moves by less than half of what is claimed, or than its jitter could seem to.
  private static func isOurs(_ fit: Fit, _ share: Double) -> Bool {
    // What only jitters goes together, too: a machine that wakes up late is no other clock. What bends is smooth.
    let near = 0.2 * fit.spacing
    let isWhite = fit.noise <= 1.4 * fit.roughness + 60 * 60
    guard fit.noise <= limit(fit.spacing) || (isWhite && fit.noise <= near * near) else { return false }
    let slope = fit.slope * fit.slope
    return slope < share * share / 4 * fit.spacing * fit.spacing || slope < 9 * fit.slopeNoise
  }

  /// A clock that was sent, by its number, and how long after it another came in.
  private struct Pair: BitwiseCopyable {
    var number: Int
    var delay: Double
  }

  /// Lays a stretch of what came in over what was sent, newest first, from a pair on; afterwards that is the next one.
  /// nil: so much was not sent, or one clock sent would stand for many that came.
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
