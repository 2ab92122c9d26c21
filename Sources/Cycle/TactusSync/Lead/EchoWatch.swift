// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// Distinguishes our own MIDI clock, which comes back through a cable or a machine, from a sequencer's clock.
///
/// Some seconds of sent and received clock messages are kept and compared at each delay that a cable may
/// have. While both clocks are even, they cannot be distinguished, and need not be. Our clock changes its
/// pace when an offset, a peer's tempo or a correction moves it. If the received clock has changed, too, at a
/// constant delay, it is our own; a sequencer's clock would go on. When we take over a sequencer's tempo, our
/// clock follows that sequencer, so clock messages of that time are not compared.
///
/// If a received clock seems to have another tempo than the session, it must also drift away from our clock
/// by as much as that tempo implies. An echo never drifts in this way, whatever tempo `ClockLoop` computes
/// from a cable's jitter and from jumps of our clock.
///
/// A Start that arrives soon after our own Start may be an echo. It is an echo if it has the same delay as
/// the clock messages. Until that is known, we do not follow that Start.
struct EchoWatch: BitwiseCopyable {
  /// The longest delay of an echo in microseconds, buffers included. An echo within the same buffer may seem
  /// to come up to `soonest` microseconds before its original.
  static let longestWay: Double = 250_000
  static let soonest: Double = -1_000
  /// The least time in microseconds between two received clock messages that are kept. A fast clock has more
  /// messages than the comparison needs.
  static let apart: Int32 = 18_000
  /// The length in microseconds of the compared row of clock messages. It has `few` to `most` received and up
  /// to `mostSent` sent messages. The whole row is compared only if its latest `few` messages match.
  static let window: Double = 3e6
  static let most: Int = 127
  static let mostSent: Double = 800
  static let few: Int = 24
  /// The microseconds (RMS) by which an echo may deviate from its delay. A jitter of 1 ms and the frames of
  /// USB together make 410 us.
  static let jitter: Double = 600
  /// The smallest difference between two delays that can be measured, in microseconds.
  static let grain: Double = 150
  /// The least `Fit.advantage` that proves an echo, as a multiple of the noise's mean square (about 6 sigma).
  static let evidence: Double = 40
  /// The distance in microseconds by which a received clock of another tempo must move against ours, within
  /// at least `leastMoved` clock messages. This must be found `confirmations` times in a row.
  static let move: Double = 4_000
  static let leastMoved: Int = 12
  static let confirmations: Int = 4
  /// The microseconds within which even a slow machine follows a jump of our clock (after a changed offset or
  /// period). Clock messages of that time prove nothing.
  static let settling: Double = 3e6
  /// The microseconds for which our clock follows the received clock after we have taken over its tempo.
  static let following: Double = 1e6
  /// The number of clock messages from which the delay of our echo is known. An echo of our Start deviates
  /// from that delay by three standard deviations at most, and never by more than `mostOffWay` microseconds.
  static let clocksOfWay: Int = 12
  static let mostOffWay: Double = 5_000

  /// Whether the received clock is our own. This value holds until another clock is recognised.
  private(set) var isEcho = false
  /// Whether the received clock may be our own, so that its beat must not be followed.
  var mayBeEcho: Bool { isEcho || doubtful != nil }
  /// The times of sent clock messages in whole microseconds of Link's clock. They are cut to 32 bits, because
  /// only differences are used. `heard` has the times of received clock messages.
  private var sent = InlineArray<1024, Int32>(repeating: 0)
  private var sentCount = 0
  private var heard = InlineArray<128, Int32>(repeating: 0)
  private var heardCount = 0
  /// The number of received clock messages that can be compared. Messages from before the time
  /// `comparableFrom` are left out: at that time our clock followed the received clock.
  private var comparable = 0
  private var comparableFrom = -1e18
  private var lag = 0
  private var moved = 0
  /// The times at which our latest Starts and Continues were sent.
  private var commands = InlineArray<8, Double>(repeating: -1e18)
  private var commandCount = 0
  /// The time at which a Start came that may be an echo of our own Start; nil: there is no such Start.
  private var doubtful: Double?
  /// The microseconds from the sending of a clock message until it is heard, plus the length of a cycle.
  /// `shiftedAt` is the time of the last change of this sum.
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

  /// Notes the time from sending a clock message until it is heard, and the cycle's length, in microseconds.
  mutating func send(ahead: Double, cycle: Double, at time: Double) {
    // The sound card's crystal also changes a latency that is counted in frames, but by less than `grain`.
    if self.ahead != 0, abs(ahead + cycle - self.ahead) > Self.grain { shiftedAt = time }
    self.ahead = ahead + cycle
  }

  /// Reads a Start or Continue. If we sent neither shortly before, the message is a sequencer's, so the
  /// received clock no longer counts as an echo. Otherwise `judgeStart` decides later.
  mutating func receiveCommand(at time: Double) {
    doubtful = nil
    for index in 0..<8 where Self.mayBeOurs(time - commands[index]) { doubtful = time }
    if doubtful == nil { isEcho = false }
  }

  private static func mayBeOurs(_ way: Double) -> Bool { way >= Self.soonest && way <= Self.longestWay }

  /// Handles a silence of the received clock. The next clock message may come from another sequencer, whose
  /// Start may have come already.
  mutating func hearNothing() {
    isEcho = false
    heardCount = 0
    comparable = 0
    moved = 0
  }

  /// Notes that we have taken over a tempo: for a while our clock follows the received clock.
  mutating func follow(at time: Double) {
    comparableFrom = time + Self.following
    comparable = 0
    moved = 0
    isEcho = false
    doubtful = nil
  }

  /// Reads a clock message. `tempo` is the tempo of the received clock, `session` that of the session, in
  /// beats per minute; 0: unknown.
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

  /// Whether the received clock has a tempo of its own, and not the tempo that we sent.
  var hasOwnTempo: Bool { moved >= Self.confirmations }

  // MARK: the comparison

  // The functions below change nothing. They are `mutating` because otherwise the compiler would copy the 5
  // KB of an `EchoWatch` for each call.

  /// Compares the sent and the received clock at one delay. It is called for each received clock message, and
  /// each call tries the next possible delay.
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
    // If the differences from the delay are independent of each other (white noise), they are jitter.
    // Otherwise the delay itself moves, so the received clock is no copy.
    guard fit.noise <= 1.4 * fit.roughness + 60 * 60 else { return }
    let noise = max(fit.noise, Self.grain * Self.grain)
    if fit.advantage / noise > Self.evidence { isEcho = true }
  }

  /// Decides whether a Start that may be an echo has the same delay as the clock messages.
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

  /// The pair of the latest received clock message and the message that we sent `lag` messages before it;
  /// nil: that message was sent too long ago, or was never sent.
  private mutating func pair(_ lag: Int) -> Pair? {
    guard heardCount > 0 else { return nil }
    var number = sentCount - 1
    // Skip clock messages that we sent later in the same buffer.
    while isKept(number), delay(0, number) < Self.soonest { number -= 1 }
    number -= lag
    guard isKept(number), delay(0, number) <= Self.longestWay else { return nil }
    return Pair(number: number, delay: delay(0, number))
  }

  private mutating func isKept(_ number: Int) -> Bool { number >= 0 && number > sentCount - 1024 }

  /// The microseconds from the sent clock message `number` to the received clock message `index`. Index 0 is
  /// the newest.
  private mutating func delay(_ index: Int, _ number: Int) -> Double {
    Double(heard[(heardCount - 1 - index) & 127] &- sent[number & 1023])
  }

  /// The mean microseconds between successive kept messages, over the latest `count` received clock messages.
  private mutating func interval(_ count: Int) -> Double {
    let first = heard[(heardCount - count) & 127]
    return Double(heard[(heardCount - 1) & 127] &- first) / Double(count - 1)
  }

  /// The number of received clock messages for which sent messages are kept, so that they can be compared.
  private mutating func longest(_ spacing: Double) -> Int {
    let kept = Self.mostSent * spacing / interval(Self.leastMoved)
    return kept < Double(Self.most) ? max(Self.leastMoved, Int(kept)) : Self.most
  }

  /// The mean square of the noise above which the received clock is no copy of ours. This limit shrinks with
  /// `spacing`: if clock messages are close together, any of them would match.
  private static func limit(_ spacing: Double) -> Double {
    let limit = min(Self.jitter, 0.2 * spacing)
    return limit * limit
  }

  /// Returns whether the received clock has moved as this tempo implies, at each possible delay. A change of
  /// cable or period moves the clock, too, but only once, so both halves of the row must show the movement.
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

  /// Returns whether the received clock is a copy of ours. It is a copy if it drifts against our clock by
  /// less than half of the drift that the difference of tempo would cause, or by so little that jitter
  /// explains it.
  private static func isOurs(_ fit: Fit, _ share: Double) -> Bool {
    // A copy with much jitter is still a copy: a machine that wakes up late makes jitter, while another tempo
    // moves the clock smoothly.
    let near = 0.2 * fit.spacing
    let isWhite = fit.noise <= 1.4 * fit.roughness + 60 * 60
    guard fit.noise <= limit(fit.spacing) || (isWhite && fit.noise <= near * near) else { return false }
    let slope = fit.slope * fit.slope
    return slope < share * share / 4 * fit.spacing * fit.spacing || slope < 9 * fit.slopeNoise
  }

  /// The number of a sent clock message, and the microseconds from it to a received message.
  private struct Pair: BitwiseCopyable {
    var number: Int
    var delay: Double
  }

  /// Compares `count` received clock messages with the messages that we sent, from the newest back. Begins
  /// with `pair` and leaves the oldest compared pair in it, so that another call can go on from there. nil:
  /// not enough messages were sent, or one sent message would match many received ones.
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
