// SPDX-License-Identifier: GPL-2.0-or-later
public import TactusSync

/// A model of jack2's driver: of its delay-locked loop, and of the effect of an xrun on that loop (facts:
/// realtime 1). The model also gives the true times of the cycles.
public struct Jack2Clock {
  /// The signs by which a client can notice that its driver stalled and had an xrun.
  public struct StallSigns: Sendable {
    var showsReversedPair: Bool
    var countsXrun: Bool

    public static let all = [
      StallSigns(showsReversedPair: true, countsXrun: true),
      StallSigns(showsReversedPair: true, countsXrun: false),
      StallSigns(showsReversedPair: false, countsXrun: true),
      StallSigns(showsReversedPair: false, countsXrun: false),
    ]
  }

  public let sampleRate: Double
  /// The rate of the sound card's crystal against the clock: 100e-6 is 100 ppm fast.
  public var crystal = 0.0
  public var frame: UInt32 = 0
  /// The true due time of frame 0 of the present cycle.
  public private(set) var due: Double
  /// The true due time of the next cycle.
  public private(set) var nextDue: Double
  private var current = 0.0
  private var next = 0.0
  private var length = 0.0
  private var isFirst = true
  private var xruns: UInt32 = 0
  private var pendingXrun = false
  private var lastFrames: UInt32 = 0

  public init(sampleRate: Double, start: Double) {
    self.sampleRate = sampleRate
    due = start
    nextDue = start
  }

  public func period(_ frames: UInt32) -> Double { Double(frames) * 1e6 / sampleRate / (1 + crystal) }

  /// Runs one cycle. `stall`: additional sleep of the driver, which then continues from the present time.
  /// `speed`: the speed of a freewheeling server. Such a server does not wait for the card, and its loop
  /// takes the observed wake-ups as the time.
  public mutating func cycle(
    frames: UInt32, lateness: Double, stall: Double = 0, signs: StallSigns = StallSigns.all[0],
    speed: Double = 1
  ) -> RawTimes {
    if !isFirst { frame &+= lastFrames }
    if frames != lastFrames { isFirst = true }
    lastFrames = frames
    due = nextDue
    let nominal = Double(frames) * 1e6 / sampleRate
    let wake = (due + lateness + stall).rounded(.down)
    // The delay-locked loop, at 1/8 Hz: the wake-up that was predicted for this cycle becomes its time, and
    // the error of the prediction corrects the next prediction.
    let omega = 2 * Double.pi / 8 * nominal / 1e6
    if isFirst {
      length = nominal
      current = wake
      next = wake + nominal
      isFirst = false
    } else {
      let error = wake - next
      current = next
      next = (next + length + 1.41 * omega * error).rounded()
      length += omega * omega * error
    }
    nextDue = due + period(frames) / speed
    if pendingXrun {
      xruns += 1
      pendingXrun = false
    }
    var shown = (current, next)
    if stall > 0 {
      // The driver notices only after the cycle's work that it is late. It runs the next cycle at once, and
      // counts from then on.
      due = wake
      nextDue = wake + 89
      if signs.showsReversedPair { shown = (wake, next) }
      pendingXrun = signs.countsXrun
    }
    return RawTimes(
      frame: frame, wakeMicros: UInt64(wake), isPairValid: true, currentMicros: UInt64(shown.0),
      nextMicros: UInt64(shown.1), xruns: xruns)
  }

  /// Runs a cycle of a driver that is always on time, so that the filter has nothing to do.
  public mutating func idealCycle(frames: UInt32) -> RawTimes {
    if !isFirst { frame &+= lastFrames }
    isFirst = false
    lastFrames = frames
    due = nextDue
    nextDue = due + period(frames)
    (current, next, length) = (due.rounded(), nextDue.rounded(), period(frames))
    return RawTimes(
      frame: frame, wakeMicros: UInt64(current), isPairValid: true, currentMicros: UInt64(current),
      nextMicros: UInt64(next), xruns: xruns)
  }

  /// Skips cycles in which the client does not run, while the driver continues.
  public mutating func lose(cycles: Int, frames: UInt32, dice: inout some RandomNumberGenerator) {
    for _ in 0..<cycles { _ = cycle(frames: frames, lateness: Jack2Clock.lateness(&dice)) }
  }

  /// A random lateness of the driver's wake-up, as measured on a loaded
  /// machine: median 47 us, 1 % above 160 us.
  public static func lateness(_ dice: inout some RandomNumberGenerator) -> Double {
    let chance = Double.random(in: 0..<1, using: &dice)
    if chance < 0.5 { return 20 + 54 * chance }
    if chance < 0.99 { return 47 + 113 * (chance - 0.5) / 0.49 }
    if chance < 0.999 { return 160 + 1000 * (chance - 0.99) / 0.009 }
    return Double.random(in: 1000...3800, using: &dice)
  }
}
