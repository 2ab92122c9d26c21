// SPDX-License-Identifier: GPL-2.0-or-later

/// The sleep of an output that has nothing to do, which is the case for most outputs in most cycles. A
/// sleeping output sends no message, and all its frames have one value. Its settings and state are not read
/// meanwhile, because most of a cycle's cost is the memory that the cycle reads.
struct OutputSleep: BitwiseCopyable {
  /// The end of the sleep: the time at which the first frame with new work passes through JACK.
  private var until = -Double.infinity
  private var stretch: UInt64 = 0
  /// The caller's number for the output and its settings. If the number changes, the sleep ends.
  private var subject: UInt64 = 0
  private(set) var value: Float = 0
  /// The delay in beats from the time at which a frame passes through JACK until it is heard through this
  /// port.
  private var laterBeats = 0.0
  private var missed = SkippedCycles(frames: 0)

  /// Returns whether the output sleeps on in this cycle.
  @inline(__always)
  mutating func lasts(_ now: inout OutputContext, of subject: UInt64 = 0) -> Bool {
    guard now.end < until, now.stretch == stretch, self.subject == subject else { return false }
    missed = SkippedCycles(frames: missed.frames &+ now.passed, endBeat: now.endBeat + laterBeats)
    return true
  }

  /// Ends the sleep, and returns the cycles in which the output slept.
  @inline(__always)
  mutating func end(_ now: inout OutputContext) -> SkippedCycles {
    defer { missed = SkippedCycles(frames: 0) }
    return SkippedCycles(frames: missed.frames &+ now.passed, endBeat: missed.endBeat)
  }

  /// Begins a sleep until `due`, a time as heard at this port. During the sleep all frames have the value
  /// `value`. A sleep lasts a quarter of a beat at most; after that the output checks the time. Swing only
  /// makes notes later, so `due` may leave out the swing.
  @inline(__always)
  mutating func begin(
    _ now: inout OutputContext, of subject: UInt64 = 0, _ window: Window, due: Double, value: Float = 0
  ) {
    let later = window.line.start - now.window.line.start
    until = min(due - later, now.end + window.grid.beatMicros / 4)
    laterBeats = later / window.grid.beatMicros
    stretch = now.stretch
    self.subject = subject
    self.value = value
  }
}

/// The cycles in which an output slept.
struct SkippedCycles: BitwiseCopyable {
  /// The number of frames from the last rendered cycle to the present cycle.
  var frames: Int64
  /// The beat that is heard through this output at the end of the last missed cycle; nil: no cycle was
  /// missed.
  var endBeat: Double?
}
