// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// Distinguishes our own MIDI clock, which comes back through a cable or a machine, from a sequencer's clock.
///
/// One comparison decides (`copy`): how far are the latest received clock messages behind the messages that
/// we sent, at each delay that a cable may have?
///
/// - If the delay is constant, and the received clock has bent, it is our own. A sequencer's clock would have
///   gone straight on. Our clock bends when an offset, a peer's tempo or a start moves it. While both
///   clocks are even, they cannot be distinguished, and need not be. When we follow a sequencer, our clock
///   bends because the sequencer's clock did. So clock messages of that time are not compared.
/// - If each possible delay grows or shrinks as the tempo of `ClockLoop` implies, the clock is another's. An
///   echo never drifts so, whatever tempo `ClockLoop` computes from a cable's jitter and our clock's jumps.
/// - A Start that comes soon after our own Start is an echo if it has the delay of the clock messages. Until
///   that is known, we do not follow that Start.
struct EchoWatch: BitwiseCopyable {
  /// The longest delay of an echo in microseconds, buffers included. An echo within the same buffer may seem
  /// to come before its original, by up to `soonest`.
  static let longestWay: Double = 250_000
  static let soonest: Double = -1_000
  /// The least time in microseconds between two received clock messages that are kept. A fast clock has more
  /// messages than the comparison needs.
  static let apart: Int32 = 18_000
  /// The compared row of received clock messages: `window` microseconds, at least `few` messages, and at most
  /// `most`.
  static let window: Double = 3e6
  static let few: Int = 24
  static let most: Int = 127
  /// The microseconds (RMS) by which an echo may deviate from its delay, as long as that is less than `near`
  /// of the time between two sent messages. A jitter of 1 ms and the frames of USB together make 410 us.
  static let jitter: Double = 600
  static let near: Double = 0.2
  /// The smallest difference that can be measured, in microseconds.
  static let grain: Double = 150
  /// How much worse a straight line must fit the received clock than a copy of ours does, as a multiple of
  /// the noise (about 6 sigma).
  static let evidence: Double = 40
  /// A received clock of another tempo must have moved by `move` microseconds in a row of at least
  /// `leastMoved` clock messages. This must be found anew in a whole row and `confirmations` more messages,
  /// because a change of cable or period moves the clock, too, but only once.
  static let move: Double = 2_000
  static let leastMoved: Int = 6
  static let confirmations: Int = 4
  /// If our clock jumps because of a changed offset or period, even a slow machine follows within this number
  /// of microseconds. Clock messages of that time prove nothing.
  static let settling: Double = 3e6
  /// The microseconds for which our clock still bends after a change by which we follow the received clock.
  static let following: Double = 1e6
  /// The number of clock messages that shows the delay of our echo. An echo of our Start deviates from that
  /// delay by three standard deviations at most, and never by more than `mostOffWay`.
  static let clocksOfWay: Int = 12
  static let mostOffWay: Double = 5_000

  /// Whether the received clock is our own. This holds until another clock is recognised.
  private(set) var isEcho = false
  /// Whether the received clock may be our own, so that its beat must not be followed.
  var mayBeEcho: Bool { isEcho || doubtful != nil }
  /// The times of sent clock messages in whole microseconds of Link's clock, cut to 32 bits: only differences
  /// are used. `heard` has the times of received clock messages.
  private var sent = InlineArray<1024, Int32>(repeating: 0)
  private var sentCount = 0
  private var heard = InlineArray<128, Int32>(repeating: 0)
  private var heardCount = 0
  /// The number of received clock messages that can be compared. Messages from before the time
  /// `comparableFrom` are left out: at that time our clock followed the received clock.
  private var comparable = 0
  private var comparableFrom = -1e18
  /// The delay that was compared last, in sent clock messages.
  private var lag = 0
  /// The number of successive received clock messages at which the clock had moved, and the length of the row
  /// that was compared.
  private var moved = 0
  private var row = 0
  /// Whether the received clock has a tempo of its own, and not the tempo that we sent.
  var hasOwnTempo: Bool { moved >= row + Self.confirmations }
  /// The times at which our latest Starts and Continues were sent.
  private var commands = InlineArray<8, Double>(repeating: -1e18)
  private var commandCount = 0
  /// The time at which a Start came that may be an echo of ours; nil: there is no such Start.
  private var doubtful: Double?
  /// The microseconds from the sending of a clock message until it is heard, plus the length of a cycle.
  /// `shiftedAt` is the time at which this sum last changed.
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
    // A latency in frames varies with the sound card's crystal, too, but by less than `grain`.
    if self.ahead != 0, abs(ahead + cycle - self.ahead) > Self.grain { shiftedAt = time }
    self.ahead = ahead + cycle
  }

  /// Reads a Start or Continue. If we sent none shortly before, the message is a sequencer's, so the received
  /// clock no longer counts as an echo. Otherwise `judgeStart` decides later.
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

  /// Notes that we have taken over the received clock's tempo, because it is not ours.
  mutating func takeOver() {
    isEcho = false
    doubtful = nil
    moved = 0
  }

  /// Notes that we follow the received clock: for a while our clock bends because that clock did.
  mutating func follow(at time: Double) {
    comparableFrom = time + Self.following
    comparable = 0
  }

  /// Reads a clock message. `tempo` is the tempo of the received clock, `session` that of the session, in
  /// beats per minute; 0: unknown.
  mutating func receive(at time: Double, tempo: Double, session: Double) {
    let now = Self.cut(time)
    if heardCount > 0, now &- heard[(heardCount - 1) & 127] < Self.apart { return }
    heard[heardCount & 127] = now
    heardCount += 1
    comparable = time > comparableFrom ? min(Self.most, comparable + 1) : 0
    let spacing = 2.5e6 / session
    let interval = spacing * Double(Int(Double(Self.apart) / spacing) + 1)
    compare(min(comparable, max(Self.few, Int(Self.window / interval))))
    judgeTempo(time - shiftedAt > Self.settling && tempo > 0 ? abs(tempo / session - 1) : 0, interval)
    judgeStart()
  }

  // MARK: the comparison

  // `originals`, `isKept`, `delay` and `copy` change nothing. They are `mutating` because otherwise the
  // compiler would copy the 5 KB of an `EchoWatch` for each call.

  /// Compares the two clocks at one delay. Each call, one for each received clock message, tries the next
  /// possible delay.
  private mutating func compare(_ count: Int) {
    let originals = originals()
    lag = lag + 1 < originals.count ? lag + 1 : 0
    guard !originals.isEmpty, let copy = copy(of: originals.upperBound - 1 - lag, count),
      copy.count >= Double(Self.few)
    else { return }
    let noise = max(copy.delay.noise, Self.grain * Self.grain)
    let limit = min(Self.jitter, Self.near * copy.spacing)
    let advantage = copy.count * (copy.time.noise - copy.delay.noise)
    if noise <= limit * limit, advantage > Self.evidence * noise { isEcho = true }
  }

  /// Decides whether the received clock differs in tempo by the share `share`, or is a copy of ours.
  private mutating func judgeTempo(_ share: Double, _ interval: Double) {
    let wanted = Self.move / (max(share, 1e-5) * interval)
    row = wanted < Double(Self.most / 2) ? max(Self.leastMoved, Int(wanted)) : Self.most / 2
    moved = share > 1e-5 && heardCount >= row ? moved + 1 : 0
    guard moved > 0 else { return }
    for number in originals() {
      guard let copy = copy(of: number, row), copy.isOurs(share) else { continue }
      moved = 0
      return
    }
  }

  /// Decides whether a Start that may be an echo has the same delay as the clock messages.
  private mutating func judgeStart() {
    guard let time = doubtful, comparable > Self.clocksOfWay else { return }
    doubtful = nil
    for number in originals() {
      guard let copy = copy(of: number, Self.clocksOfWay) else { continue }
      let tolerated = min(Self.mostOffWay * Self.mostOffWay, Self.grain * Self.grain + 9 * copy.delay.noise)
      for index in 0..<8 {
        let way = time - commands[index]
        let off = way - copy.delay.mean
        if Self.mayBeOurs(way), off * off <= tolerated { isEcho = true }
      }
    }
  }

  /// The numbers of the sent clock messages whose echo the latest received message may be.
  private mutating func originals() -> Range<Int> {
    var end = sentCount
    while isKept(end - 1), delay(0, end - 1) < Self.soonest { end -= 1 }
    var first = end
    while isKept(first - 1), delay(0, first - 1) <= Self.longestWay { first -= 1 }
    return first..<end
  }

  private mutating func isKept(_ number: Int) -> Bool { number >= 0 && number > sentCount - 1024 }

  /// The microseconds from the sent clock message `number` to the received clock message `index`. Index 0 is
  /// the newest.
  private mutating func delay(_ index: Int, _ number: Int) -> Double {
    Double(heard[(heardCount - 1 - index) & 127] &- sent[number & 1023])
  }

  /// Compares the latest `count` received clock messages with those that we sent, as if the newest were the
  /// echo of the sent message `number`. nil: too few messages were sent.
  private mutating func copy(of number: Int, _ count: Int) -> Copy? {
    var copy = Copy()
    var original = number
    var expected = delay(0, number)
    for index in 0..<count {
      while isKept(original - 1),
        abs(delay(index, original - 1) - expected) < abs(delay(index, original) - expected)
      {
        original -= 1
      }
      guard isKept(original - 1) else { break }
      let delay = delay(index, original)
      expected += (delay - expected) / 8
      let step = Double(original - number)
      copy.delay.add(step, delay)
      copy.time.add(step, delay + Double(sent[original & 1023] &- sent[number & 1023]))
    }
    return copy.delay.spread > 0 ? copy : nil
  }
}
