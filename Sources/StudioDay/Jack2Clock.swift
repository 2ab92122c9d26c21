// SPDX-License-Identifier: GPL-2.0-or-later
public import HostSync

/// jack2's driver, its delay-locked loop and what an xrun does to it (facts: realtime 1), with the truth beside.
public struct Jack2Clock {
  /// What the xrun of a stalled driver lets a client see.
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
  /// The card's crystal against the clock: 100e-6 is 100 ppm fast.
  public var crystal = 0.0
  public var frame: UInt32 = 0
  /// When frame 0 of the present cycle was really due.
  public private(set) var due: Double
  /// When the next one's is.
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

  /// One cycle. `stall`: the driver sleeps so much longer, then starts again from where it is. `speed`: a freewheeling
  /// server does not wait for the card, and its loop takes what it sees for time.
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
    // The loop, 1/8 Hz: the predicted wake-up becomes the present one, and the error moves the next.
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
      // The driver finds itself late after the cycle's work, runs the next at once, and counts from then on.
      due = wake
      nextDue = wake + 89
      if signs.showsReversedPair { shown = (wake, next) }
      pendingXrun = signs.countsXrun
    }
    return RawTimes(
      frame: frame, wakeMicros: UInt64(wake), isPairValid: true, currentMicros: UInt64(shown.0),
      nextMicros: UInt64(shown.1), xruns: xruns)
  }

  /// A cycle of a driver that is always on time, with a filter that has nothing to do.
  public mutating func idealCycle(frames: UInt32) -> RawTimes {
    if !isFirst { frame &+= lastFrames }
    isFirst = false
    lastFrames = frames
    due = nextDue
    nextDue = due + period(frames)
    return RawTimes(
      frame: frame, wakeMicros: UInt64(due.rounded()), isPairValid: true,
      currentMicros: UInt64(due.rounded()),
      nextMicros: UInt64(nextDue.rounded()), xruns: xruns)
  }

  /// Cycles that pass while the client does not run; the driver goes on.
  public mutating func lose(cycles: Int, frames: UInt32, dice: inout some RandomNumberGenerator) {
    for _ in 0..<cycles { _ = cycle(frames: frames, lateness: Jack2Clock.lateness(&dice)) }
  }

  /// How late a driver wakes up, as measured on a machine with other load: median 47 us, 1 % above 160 us.
  public static func lateness(_ dice: inout some RandomNumberGenerator) -> Double {
    let chance = Double.random(in: 0..<1, using: &dice)
    if chance < 0.5 { return 20 + 54 * chance }
    if chance < 0.99 { return 47 + 113 * (chance - 0.5) / 0.49 }
    if chance < 0.999 { return 160 + 1000 * (chance - 0.99) / 0.009 }
    return Double.random(in: 1000...3800, using: &dice)
  }
}
