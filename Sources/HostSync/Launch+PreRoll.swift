// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// Where a held transport was sent, so that its start position is heard on the beat to the frame.
///
/// A start falls into a cycle, and a beat falls anywhere: if the transport stands at frame F and the beat is r frames
/// after a cycle's start, it is sent to F - r and let go in that cycle (facts: jack 12).
struct PreRoll: BitwiseCopyable {
  /// The frame asked for last, and when.
  private(set) var sentTo: UInt32?
  private(set) var askedAt = -1e18
  /// The one of ours that the transport was seen at last.
  private var wasAt: UInt32?
  /// How often this launch was moved on, and where the transport was sent for it.
  private(set) var moves = 0
  private var movedTo: UInt32?
  /// How often this launch was put off because it would not have been exact.
  var retries = 0
  /// Cycles until a transport that was stopped while it waited is sent back to where it stood.
  var putBackIn = 0

  init() {}

  /// Whether the transport stands where we sent it.
  mutating func sees(_ frame: UInt32) -> Bool {
    if frame == sentTo { wasAt = frame }
    return frame == wasAt
  }

  mutating func send(to frame: UInt32, at time: Double) {
    sentTo = frame
    askedAt = time
  }

  mutating func moveOn(to frame: UInt32, at time: Double) {
    send(to: frame, at: time)
    moves += 1
    movedTo = frame
  }

  mutating func forget() {
    sentTo = nil
    wasAt = nil
    askedAt = -1e18
  }

  mutating func isOver() {
    sentTo = nil
    wasAt = nil
    moves = 0
    retries = 0
  }

  /// The others let the transport roll just before it was moved on: that Starting is ours.
  func isBack(_ question: Launch.Question) -> Bool {
    question.frame == movedTo && question.rollsAt - askedAt < Launch.memory
  }
}

extension Launch {
  /// The control thread looks at wishes every 2 ms while a start waits, and a busy machine makes that 20.
  static let controlTime: Double = 25_000
  /// Cycles from the request to the first that can roll, and one to spare.
  static let jackCycles: Double = 4
  /// Two wishes are so far apart: other clients look for the place each time.
  static let shortestPause: Double = 150_000
  /// In the last so many microseconds before it would be too late, the place is corrected to the frame; before
  /// that only if it is plainly wrong, since clocks still move.
  static let finalApproach: Double = 200_000
  static let plainlyWrong: Double = 8
  static let goodEnough: Double = 0.6
  static let mostMoves: Int = 2
  static let mostRetries: Int = 2
  /// An exact start may be off by what clocks move between the last correction and the start, in frames.
  static let stillExact: Double = 2.5
  /// A start may be so late, in cycles: half of one and, since cycles are not a period apart to the microsecond, a
  /// quarter; one is just too early, and the next must not be too late.
  static let latest: Double = 0.75
  /// A relocation that takes longer than this is not ours any more.
  static let memory: Double = 300_000

  /// How long after its first rolling frame the song's start position is heard.
  func preRollMicros(at frame: UInt32, perFrame: Double) -> Double {
    Double(Int32(truncatingIfNeeded: anchor &- frame)) * perFrame
  }

  /// How long before its beat a start has to be prepared.
  func preparation(_ period: Double) -> Double { Self.controlTime + Self.jackCycles * period + others.micros }

  /// From the song's first period nothing can be sent back.
  func hasRoom(_ question: Question) -> Bool { Double(anchor) * question.perFrame >= question.period }

  /// The start is due and would not be exact: the place did not come in time, or the driver stalled after it. Once or
  /// twice the next boundary is the better start, if it is not too far away.
  mutating func mustTryAgain(_ question: Question, limit: Double) -> Bool {
    guard hasRoom(question), preRoll.retries < Self.mostRetries else { return false }
    let ahead = preRollMicros(at: question.frame, perFrame: question.perFrame)
    let miss = abs(question.rollsAt + ahead - question.grid.time(of: target.value))
    guard miss > Self.stillExact * question.perFrame,
      question.rollsAt + step.value * question.grid.period + 2 * preparation(question.period) < limit
    else { return false }
    preRoll.retries += 1
    return true
  }

  /// Asks for the transport to be where the next cycle that begins before the beat needs it. [audio]
  mutating func prepare(_ question: Question) {
    guard step > .zero, question.perFrame > 0 else { return }
    let beat = question.grid.time(of: target.value) - question.rollsAt
    let lead = preparation(question.period)
    guard beat >= lead, question.rollsAt - preRoll.askedAt >= Self.shortestPause else { return }
    // How far from a cycle's start the transport would have to roll as it stands now.
    let present = beat - preRollMicros(at: question.frame, perFrame: question.perFrame)
    let cycles = Double(Int64(rounding: present / question.period))
    let miss = abs(present - cycles * question.period) / question.perFrame
    let isFinal = beat - lead < Self.finalApproach
    guard miss > (isFinal ? Self.goodEnough : Self.plainlyWrong) else { return }
    guard let place = place(beat, period: question.period, perFrame: question.perFrame) else { return }
    preRoll.send(to: place, at: question.rollsAt)
    ask(for: place, from: question.frame, question.grid, perFrame: question.perFrame)
  }

  /// That the transport, which waits at `from`, be sent to where this start rolls from.
  mutating func ask(
    for place: UInt32, from: UInt32, reach: UInt32 = 0, _ grid: Grid, perFrame: Double
  ) {
    let beat = songBeat.value - preRollMicros(at: place, perFrame: perFrame) / grid.period
    wish.ask(for: place, at: Beats(beat), from: from, reach: reach, if: .starting)
  }

  /// The frame to roll from in the last cycle that begins before a beat so many microseconds after a cycle's start. nil:
  /// there is no room before the song's start.
  func place(_ beat: Double, period: Double, perFrame: Double) -> UInt32? {
    let whole = Double(Int64(flooring: beat / period))
    let frames = Int64(rounding: (beat - whole * period) / perFrame)
    guard frames <= Int64(anchor), frames >= 0 else { return nil }
    return anchor &- UInt32(truncatingIfNeeded: frames)
  }

  /// The start was let go and does not roll: another client holds it. Out of phase is no place to start, so the
  /// next boundary is taken that leaves them their time; JACK asks everybody anew after a relocation. They may be
  /// ready before the control thread has asked for it: then it is taken back from its first few cycles.
  mutating func moveOnIfOthersAreLate(_ sight: Sight) {
    guard case .released = stage, step > .zero, preRoll.moves < Self.mostMoves else { return }
    // A yes is a start one cycle later, so the first that can still roll is the next.
    let rollsAt = sight.heard + sight.period
    let ahead = preRollMicros(at: sight.frame, perFrame: sight.perFrame)
    guard rollsAt + ahead >= sight.grid.time(of: target.value) + Self.latest * sight.period else { return }
    learn(thatOthersWereNotReadyAt: sight.heard, period: sight.period)
    let lead = preparation(sight.period)
    target = Beats(sight.grid.beat(at: sight.heard + lead)).nextMatchingPhase(of: songBeat, quantum: step)
    stage = .waiting
    moved &+= 1
    let beat = sight.grid.time(of: target.value) - sight.heard
    let exact = isExact ? place(beat, period: sight.period, perFrame: sight.perFrame) : nil
    preRoll.moveOn(to: exact ?? anchor, at: sight.heard)
    let reach = UInt32(clamping: Int64((Self.controlTime + 2 * sight.period) / sight.perFrame))
    ask(for: exact ?? anchor, from: sight.frame, reach: reach, sight.grid, perFrame: sight.perFrame)
  }

  /// It rolls, too late, and is about to be moved on.
  func isTakenBack(_ sight: Sight) -> Bool {
    guard case .starting = wish.condition, wish.reach > 0 else { return false }
    let gone = Double(sight.frame &- wish.from) * sight.perFrame
    return gone <= Double(wish.reach) * sight.perFrame + Self.jackCycles * sight.period
  }

  /// Since Play, or since the last place that it was sent to: who had longer than anybody takes was ready until then.
  mutating func learn(thatOthersWereNotReadyAt heard: Double, period: Double) {
    var took = heard - askedAt
    if took > OthersTake.longest, preRoll.askedAt > askedAt { took = heard - preRoll.askedAt }
    others.needMore(than: took, period: period)
  }

  /// Stopped while it waited: the transport goes back to where play was pressed, if nobody moves it elsewhere.
  mutating func putBack(_ sight: Sight) {
    if isHolding {
      wish.withdraw()
      preRoll.putBackIn = preRoll.sees(sight.frame) && sight.frame != anchor ? 12 : 0
      preRoll.isOver()
      if preRoll.putBackIn > 0 { wish.from = sight.frame }
      return
    }
    guard preRoll.putBackIn > 0 else {
      if sight.frame != wish.from { wish.withdraw() }
      return
    }
    preRoll.putBackIn = sight.frame == wish.from ? preRoll.putBackIn - 1 : 0
    if preRoll.putBackIn == 0, sight.frame == wish.from {
      wish.ask(for: anchor, at: songBeat, from: sight.frame, if: .stopped)
    }
  }

  private var isPuttingBack: Bool { if case .stopped = wish.condition { true } else { false } }

  /// What the frame means if it is one of this start's.
  mutating func landmark(_ frame: UInt32, perFrame: Double, period: Double) -> Landmark? {
    guard isHolding || preRoll.putBackIn > 0 || isPuttingBack else { return nil }
    guard frame == anchor || preRoll.sees(frame) || frame == wish.from else { return nil }
    return Landmark(
      frame: frame, beat: songBeat.value - preRollMicros(at: frame, perFrame: perFrame) / period)
  }
}
