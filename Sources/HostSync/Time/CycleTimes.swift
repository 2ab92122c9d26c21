// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// From what JACK says about a cycle's time to a line that can be trusted. Nothing else sees the raw pair.
///
/// In quiet times that line is JACK's own: `jack_get_cycle_times` filters the wake-ups well. But after a stall
/// of the driver jack2 returns success with `next < current`, then a `current` that is wrong by as much as the
/// stall was long and creeps back for seconds (1/8 Hz), with a slope that is percents off (facts: realtime 1).
/// So a second opinion is kept: `WakeFilter`, from the wake-up times that JACK reports raw. As long as the two
/// agree, JACK's pair is used; when they do not, our own is, until they agree again; a change between the two is
/// smoothed over. Cycles that only we missed move nothing: the frame counter counts them.
///
/// No clock is read here, and the frames of other cycles are only used as distances.
struct CycleTimes: BitwiseCopyable {
  private enum Source: BitwiseCopyable { case jack, wakes }

  /// Microseconds between the two: they agree; they differ, if for many cycles, for a lazy scheduler is late now and then;
  /// they differ. A driver that slips by a few hundred takes JACK's loop a second or two, and so does the server's start.
  private static let close: Double = 60
  private static let far: Double = 100
  private static let tooFar: Double = 400
  private static let manyCycles: Int = 16

  private var source = Source.jack
  private var filter = WakeFilter()
  private var isStarted = false
  /// Number of frame 0, made 64-bit.
  private var frame: Int64 = 0
  private var rawFrame: UInt32 = 0
  private var frames: UInt32 = 0
  private var sampleRate: UInt32 = 0
  private var xruns: UInt32 = 0
  /// `next` of the cycle before, where `current` goes on from; 0 if that is unknown.
  private var promised = 0.0
  /// Learned microseconds per frame: the crystal of the sound card, on JACK's clock.
  private var crystal = 0.0
  /// This cycle, on JACK's clock.
  private var line = FrameLine(start: 0, frameMicros: 1)
  /// A change of source is being smoothed over.
  private var isBlending = false
  private var agreeing = 0
  private var differing = 0
  private var wasStalled = false
  private var wasReversed = false
  /// On Link's clock, the last that was given out: freewheeling goes on from it.
  private var given = FrameLine(start: 0, frameMicros: 1)
  /// Since the cycle before, the server runs as fast as it can.
  private(set) var wasFreewheeling = false
  /// Time is real again: it begins here, and what came before has no time on it.
  private(set) var isBack = false

  /// Frames since the cycle before, those of lost cycles included; 0 in the first, or if the counter is new.
  private(set) var passedFrames: Int64 = 0
  /// Frames of the cycle before.
  private(set) var previousFrames: Int64 = 0
  private(set) var lostCycles: UInt64 = 0
  private(set) var bridgedCycles: UInt64 = 0
  /// No cycle was lost before this one and no new line begun: what the cycle shows belongs to its time.
  private(set) var isSound = false
  /// JACK's time for frame 0 less ours.
  private(set) var filterError = 0.0

  /// Microseconds per frame over many cycles, on Link's clock as far as it matters: for latencies, which may be
  /// many buffers long.
  var steadyFrameMicros: Double { crystal }

  @inline(__always)
  func report(on map: ClockMap, into report: inout Report) {
    report.driftPPM = driftPPM(on: map)
    report.lostCycles = lostCycles
    report.bridgedCycles = bridgedCycles
  }

  /// How much faster than its nominal rate the sound card runs, on Link's clock.
  func driftPPM(on map: ClockMap) -> Double {
    guard crystal > 0, sampleRate > 0 else { return 0 }
    return (1e6 / Double(sampleRate) / (crystal * (1 + map.skew)) - 1) * 1e6
  }

  /// When this cycle is due, on Link's clock, by the last cycle's line: for questions that are asked before this one's is
  /// made. From a freewheel no line goes on, so that the cycle's own is tried on.
  func start(of cycle: inout Cycle) -> Double {
    if wasFreewheeling {
      var trial = self
      return trial.line(of: &cycle).start
    }
    return given.time(atFrame: Double(Int32(truncatingIfNeeded: cycle.times.frame &- rawFrame)))
  }

  /// The time of each frame of this cycle as it passes through JACK, on Link's clock. Once a cycle. [audio]
  mutating func line(of cycle: inout Cycle) -> FrameLine {
    let nominal = 1e6 / Double(max(1, cycle.sampleRate))
    let isFreewheeling = cycle.isFreewheeling
    previousFrames = Int64(frames)
    if isFreewheeling && isStarted {
      // The server's times run away from the world; the music goes on at its own pace (facts: jack 8).
      given.start += Double(frames) * nominal
      passedFrames = Int64(frames)
      given.frameMicros = nominal
      frames = cycle.frames
      wasFreewheeling = true
      isBack = false
      return given
    }
    isBack = wasFreewheeling
    let rate = cycle.sampleRate
    if wasFreewheeling || rate != sampleRate { restart(nominal: nominal) }
    advance(to: &cycle)
    measure(cycle.times, frames: cycle.frames, nominal: nominal)
    isSound = passedFrames > 0 && passedFrames == previousFrames && !wasStalled
    given = line.onLinkClock(by: cycle.clock)
    return given
  }

  private mutating func restart(nominal: Double) {
    isStarted = false
    // JACK's loop took the freewheel for time, and is now off by as much as that ran ahead.
    source = wasFreewheeling ? .wakes : .jack
    wasFreewheeling = false
    crystal = nominal
    isBlending = false
    filter.restart()
  }

  /// Follows the frame counter, which wraps, and jumps by whole cycles when we missed some.
  private mutating func advance(to cycle: inout Cycle) {
    let passed = Int64(Int32(truncatingIfNeeded: cycle.times.frame &- rawFrame))
    let length = cycle.frames
    let longest = 10 * Int64(cycle.sampleRate)
    let isPlausible = passed > 0 && passed < longest
    passedFrames = isStarted && isPlausible ? passed : 0
    if isStarted && isPlausible {
      frame = frame &+ passed
      line.start += Double(passed) * crystal
      let lost = passed &- Int64(frames)
      if lost > 0 && length == frames {
        lostCycles &+= UInt64(truncatingIfNeeded: lost / Int64(max(1, frames)))
      }
      if length != frames { resume() }
    } else {
      if isStarted { resume() }
      frame = Int64(cycle.times.frame)
    }
    rawFrame = cycle.times.frame
    frames = cycle.frames
    sampleRate = cycle.sampleRate
  }

  /// Another buffer size, or a counter that started again: what was known about the crystal stays.
  private mutating func resume() {
    filter.restart()
    source = .jack
    isBlending = false
    isStarted = false
  }

  private mutating func measure(_ times: RawTimes, frames: UInt32, nominal: Double) {
    let pair = Pair(times, frames: frames, nominal: nominal)
    // Under an xrun jack2 puts the true wake-up into `current`, so the fallback is good just then.
    let wake = times.wakeMicros > 0 ? Double(times.wakeMicros) : pair.current
    // Only the driver's xruns turn the pair over; a client's leave it alone. After a freewheel it may stay so for many cycles.
    let isTurnedOver = pair.isReversed && !wasReversed
    let sign =
      isTurnedOver || isBroken(pair) || (isStarted && times.xruns != xruns && wake - line.start > 1000)
    wasReversed = pair.isReversed
    xruns = times.xruns
    promised = times.isPairValid ? Double(times.nextMicros) : 0
    let verdict = filter.add(
      wake: wake, frame: frame, frameMicros: crystal, cycleMicros: Double(frames) * crystal,
      hasStallSign: sign)
    let own = filter.due(atFrame: frame, frameMicros: crystal)
    filterError = pair.current - own
    switch verdict {
    case .stalled:
      source = .wakes
      agreeing = 0
      line = FrameLine(start: own, frameMicros: crystal)
    case .steady:
      choose(pair)
      follow(pair, own: own, frames: frames, nominal: nominal)
    }
    if case .stalled = verdict { wasStalled = true } else { wasStalled = false }
    if source == .wakes { bridgedCycles &+= 1 }
    isStarted = true
  }

  /// jack2's loop goes on from where it said, to the microsecond, unless the driver was too late: then `current` is
  /// the raw wake-up, and the next cycle begins a new line. The pair is turned over only if that was a period.
  private func isBroken(_ pair: Pair) -> Bool {
    isStarted && promised > 0 && passedFrames == previousFrames && abs(pair.current - promised) > 500
  }

  /// Which of the two to believe. There is a gap between leaving JACK's filter and coming back to it.
  private mutating func choose(_ pair: Pair) {
    let distance = abs(filterError)
    agreeing = pair.isSane && distance < Self.close ? agreeing + 1 : 0
    differing = filter.count >= WakeFilter.trusted && distance > Self.far ? differing + 1 : 0
    switch source {
    case .jack:
      let isContradicted = differing > 0 && distance > Self.tooFar || differing >= Self.manyCycles
      if !pair.isSane || isContradicted {
        source = .wakes
        agreeing = 0
        differing = 0
      }
    case .wakes:
      if agreeing >= Self.manyCycles { source = .jack }
    }
  }

  private mutating func follow(_ pair: Pair, own: Double, frames: UInt32, nominal: Double) {
    let cycleMicros = Double(frames) * crystal
    let wanted: Double
    // How much of a difference is taken at once. JACK's own steps are a few microseconds and taken whole.
    var share = 1.0
    switch source {
    case .jack:
      wanted = pair.current
      // A slope that would miss the next cycle by a tenth of a millisecond is the loop's trouble, not the card's.
      let bend = abs(pair.frameMicros - crystal) * Double(frames)
      line.frameMicros = bend < 100 ? pair.frameMicros : crystal
      if isBlending { share = min(1, cycleMicros / 20_000) }
      let rate = crystal + (pair.frameMicros - crystal) * min(1, cycleMicros / 20e6)
      crystal = min(nominal * 1.001, max(nominal * 0.999, rate))
    case .wakes:
      wanted = own
      line.frameMicros = crystal
      isBlending = true
      if filter.count >= WakeFilter.trusted { share = min(1, cycleMicros / 60_000) }
    }
    let step = wanted - line.start
    // Small steps are spread so that they are not heard; a big one must not take long.
    if !isStarted || abs(step) > 1000 { share = 1 }
    line.start += step * share
    if source == .jack && abs(step) < 5 { isBlending = false }
  }
}

/// `jack_get_cycle_times`, looked at with suspicion.
private struct Pair: BitwiseCopyable {
  let current: Double
  let frameMicros: Double
  let isSane: Bool
  /// What jack2 leaves behind when the driver had an xrun.
  let isReversed: Bool

  init(_ times: RawTimes, frames: UInt32, nominal: Double) {
    current = Double(times.currentMicros)
    let pairMicros = Double(times.nextMicros) - current
    frameMicros = pairMicros / Double(max(1, frames))
    isReversed = times.isPairValid && times.nextMicros < times.currentMicros
    isSane = times.isPairValid && frames > 0 && abs(frameMicros / nominal - 1) < 0.01
  }
}
