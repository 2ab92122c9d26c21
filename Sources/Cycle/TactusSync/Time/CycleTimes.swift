// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// Turns JACK's times of a cycle into a frame line that can be trusted. No other code sees the two times
/// (`current` and `next`) that JACK gives for a cycle.
///
/// Normally the frame line is JACK's own: `jack_get_cycle_times` filters the driver's wake-ups well. But
/// after a stall of the driver jack2 returns success with `next < current`. Then for seconds its `current` is
/// wrong by the length of the stall and creeps back (at 1/8 Hz), with a slope that is wrong by some per cent
/// (facts: realtime 1). `WakeFilter` is the second opinion: it uses the raw wake-up times that JACK reports.
/// While JACK and the filter agree, JACK's times are used. When they differ, the filter's estimate is used
/// until they agree again. A change of the source is smoothed. Cycles that only our client missed have no
/// effect: JACK's frame counter includes them.
///
/// This type reads no clock, and uses frame numbers of other cycles only as distances.
///
/// The struct has more than 20 properties: the times of the last cycle, the source of the times, and the
/// counters.
struct CycleTimes: BitwiseCopyable {
  private enum Source: BitwiseCopyable { case jack, wakes }

  /// The distance between JACK's times and the filter's, in microseconds, below which they agree. Above `far`
  /// they differ if the distance lasts `manyCycles` cycles, because a lazy scheduler is late now and then.
  /// Above `tooFar` they differ at once. JACK's loop needs a second or two to follow a driver that slips by
  /// some hundred microseconds, and to settle after the server's start.
  private static let close: Double = 60
  private static let far: Double = 100
  private static let tooFar: Double = 400
  private static let manyCycles: Int = 16

  private var source = Source.jack
  private var filter = WakeFilter()
  private var isStarted = false
  /// The number of frame 0, extended to 64 bits.
  private var frame: Int64 = 0
  private var rawFrame: UInt32 = 0
  private var frames: UInt32 = 0
  private var sampleRate: UInt32 = 0
  private var xruns: UInt32 = 0
  /// The values `current_usecs` and `next_usecs` of the last cycle; 0: unknown. This cycle's `current_usecs`
  /// should equal the last cycle's `next_usecs`.
  private var began = 0.0, promised = 0.0
  /// The microseconds per frame of the sound card's crystal, as learned until now, on JACK's clock.
  private var crystal = 0.0
  /// The frame line of this cycle, on JACK's clock.
  private var line = FrameLine(start: 0, frameMicros: 1)
  /// Whether the line still approaches a new source (JACK's times or the filter's) in small steps.
  private var isBlending = false
  private var agreeing = 0
  private var differing = 0
  private var wasStalled = false
  private var wasReversed = false
  /// The frame line of the last cycle as callers got it, on Link's clock. During a freewheel this line is
  /// extended.
  private var given = FrameLine(start: 0, frameMicros: 1)
  /// Whether the server was freewheeling in the last cycle.
  private(set) var wasFreewheeling = false
  /// Whether this is the first cycle in real time after a freewheel, so that times of earlier cycles are not
  /// on this line.
  private(set) var isBack = false

  /// The frames since the last cycle, including those of lost cycles; 0 in the first cycle, or after JACK's
  /// frame counter started again.
  private(set) var passedFrames: Int64 = 0
  /// The number of frames of the last cycle.
  private(set) var previousFrames: Int64 = 0
  private(set) var lostCycles: UInt64 = 0
  private(set) var bridgedCycles: UInt64 = 0
  /// Whether no cycle was lost before this cycle and the driver did not stall. Only in that case the
  /// transport's state belongs to this cycle's time.
  private(set) var isSound = false
  /// JACK's time for frame 0 of the cycle minus our filter's time for it, in microseconds.
  private(set) var filterError = 0.0

  /// The mean microseconds per frame over many cycles, on JACK's clock. It is meant for latencies: even over
  /// many buffers, the difference between JACK's clock and Link's is too small to matter.
  var steadyFrameMicros: Double { crystal }

  @inline(__always)
  func report(on map: ClockMap) -> TimesReport {
    TimesReport(lostCycles: lostCycles, bridgedCycles: bridgedCycles, driftPPM: driftPPM(on: map))
  }

  /// The parts per million by which the sound card runs faster than its nominal rate, on Link's clock.
  func driftPPM(on map: ClockMap) -> Double {
    guard crystal > 0, sampleRate > 0 else { return 0 }
    return (1e6 / Double(sampleRate) / (crystal * (1 + map.skew)) - 1) * 1e6
  }

  /// The time at which this cycle is due, on Link's clock, by the last cycle's line. It is meant for
  /// callbacks that come before this cycle's own line is made. The line of a freewheel does not continue into
  /// real time, so after a freewheel this function computes the cycle's own line on a copy.
  func start(of cycle: inout Cycle) -> Double {
    if wasFreewheeling {
      var trial = self
      return trial.line(of: &cycle).start
    }
    return given.time(atFrame: Double(Int32(truncatingIfNeeded: cycle.times.frame &- rawFrame)))
  }

  /// The times at which the frames of this cycle pass through JACK, on Link's clock. Call this once a cycle.
  /// [audio]
  mutating func line(of cycle: inout Cycle) -> FrameLine {
    let nominal = 1e6 / Double(max(1, cycle.sampleRate))
    let isFreewheeling = cycle.isFreewheeling
    previousFrames = Int64(frames)
    if isFreewheeling && isStarted {
      // In a freewheel the server's times run ahead of real time, and the music goes on at the nominal rate
      // (facts: jack 8).
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
    // JACK's loop counted the freewheel as real time, so the loop is now wrong by the time that the freewheel
    // ran ahead.
    source = wasFreewheeling ? .wakes : .jack
    wasFreewheeling = false
    crystal = nominal
    isBlending = false
    filter.restart()
  }

  /// Follows JACK's frame counter. The counter wraps, and it jumps by whole cycles if we missed cycles.
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

  /// Restarts the filter after a new buffer size or a restarted frame counter. The learned rate of the
  /// crystal stays.
  private mutating func resume() {
    filter.restart()
    source = .jack
    isBlending = false
    isStarted = false
  }

  private mutating func measure(_ times: RawTimes, frames: UInt32, nominal: Double) {
    let pair = Pair(times, frames: frames, nominal: nominal)
    // If JACK gives no wake-up time, JACK's `current` replaces it. During an xrun jack2 puts the true wake-up
    // time into `current`, so the replacement is right when it matters.
    let wake = times.wakeMicros > 0 ? Double(times.wakeMicros) : pair.current
    // Only an xrun of the driver reverses JACK's two times (`next < current`); a client's xrun does not.
    // After a freewheel they may stay reversed for many cycles, so only the first reversed cycle counts.
    let isTurnedOver = pair.isReversed && !wasReversed
    let sign =
      isTurnedOver || isBroken(pair) || (isStarted && times.xruns != xruns && wake - line.start > 1000)
    wasReversed = pair.isReversed
    xruns = times.xruns
    let lasted = lastFrameMicros(until: pair.current) ?? pair.frameMicros
    (began, promised) = times.isPairValid ? (pair.current, Double(times.nextMicros)) : (0, 0)
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
      follow(pair, lasted: lasted, own: own, frames: frames, nominal: nominal)
    }
    if case .stalled = verdict { wasStalled = true } else { wasStalled = false }
    if source == .wakes { bridgedCycles &+= 1 }
    isStarted = true
  }

  /// Whether JACK's loop has started a new line. jack2's loop goes on at the `next` that it announced, to the
  /// microsecond, unless the driver was late. If the driver was late, `current` is the raw wake-up, and the
  /// next cycle begins a new line. The two times are reversed only if the driver's delay exceeded a period.
  private func isBroken(_ pair: Pair) -> Bool {
    isStarted && promised > 0 && passedFrames == previousFrames && abs(pair.current - promised) > 500
  }

  /// Chooses JACK's times or the filter's. The distance at which JACK's times are left is larger than the
  /// distance at which they are used again, so the choice does not flap.
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

  /// The microseconds per frame from the last cycle's `current` to this one's; nil: JACK's line does not
  /// continue. `next - current` of one cycle would be too short: PipeWire 1.4 cuts a fraction of a
  /// microsecond off `next`, which is 62 ppm at 256 frames (facts: jack 2).
  private func lastFrameMicros(until current: Double) -> Double? {
    guard isStarted, promised > 0, passedFrames > 0, passedFrames == previousFrames else { return nil }
    return abs(current - promised) < 2 ? (current - began) / Double(passedFrames) : nil
  }

  /// - Parameter lasted: the microseconds per frame of the last cycle, or of this cycle if that is unknown.
  private mutating func follow(
    _ pair: Pair, lasted: Double, own: Double, frames: UInt32, nominal: Double
  ) {
    let cycleMicros = Double(frames) * crystal
    let wanted: Double
    // The share of the difference that this cycle corrects. JACK corrects by a few microseconds itself; such
    // a small difference is corrected at once.
    var share = 1.0
    switch source {
    case .jack:
      wanted = pair.current
      // A slope that would miss the next cycle by 0.1 ms is an error of JACK's loop, not the card's rate.
      let bend = abs(pair.frameMicros - crystal) * Double(frames)
      line.frameMicros = bend < 100 ? pair.frameMicros : crystal
      if isBlending { share = min(1, cycleMicros / 20_000) }
      let rate = crystal + (lasted - crystal) * min(1, cycleMicros / 20e6)
      crystal = min(nominal * 1.001, max(nominal * 0.999, rate))
    case .wakes:
      wanted = own
      line.frameMicros = crystal
      isBlending = true
      if filter.count >= WakeFilter.trusted { share = min(1, cycleMicros / 60_000) }
    }
    let step = wanted - line.start
    // Small steps are spread so that they are inaudible. A large step must not take long.
    if !isStarted || abs(step) > 1000 { share = 1 }
    line.start += step * share
    if source == .jack && abs(step) < 5 { isBlending = false }
  }
}

/// The two times that `jack_get_cycle_times` returns, and whether they can be right.
private struct Pair: BitwiseCopyable {
  let current: Double
  let frameMicros: Double
  let isSane: Bool
  /// Whether `next` lies before `current`: jack2 returns such times after an xrun of the driver.
  let isReversed: Bool

  init(_ times: RawTimes, frames: UInt32, nominal: Double) {
    current = Double(times.currentMicros)
    let pairMicros = Double(times.nextMicros) - current
    frameMicros = pairMicros / Double(max(1, frames))
    isReversed = times.isPairValid && times.nextMicros < times.currentMicros
    isSane = times.isPairValid && frames > 0 && abs(frameMicros / nominal - 1) < 0.01
  }
}
