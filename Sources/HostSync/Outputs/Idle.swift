// SPDX-License-Identifier: GPL-2.0-or-later

/// An output that has nothing to do for a while, as most have in most cycles: no message goes out, and its buffer holds one value.
/// Meanwhile neither its settings nor what it remembers are touched: what a cycle costs is mostly the memory that it comes by.
struct Idle: BitwiseCopyable {
  /// When what is due next passes through JACK.
  private var until = -Double.infinity
  private var stretch: UInt64 = 0
  /// What it is the idling of: a number of its caller's.
  private var subject: UInt64 = 0
  private(set) var value: Float = 0
  /// How much later than it passes through JACK a beat is heard there, in beats.
  private var laterBeats = 0.0
  private var missed = Missed(frames: 0)

  /// Whether it has nothing to do in this cycle either.
  @inline(__always)
  mutating func lasts(_ now: inout Present, of subject: UInt64 = 0) -> Bool {
    guard now.end < until, now.stretch == stretch, self.subject == subject else { return false }
    missed = Missed(frames: missed.frames &+ now.passed, endBeat: now.endBeat + laterBeats)
    return true
  }

  /// There is something to do.
  @inline(__always)
  mutating func end(_ now: inout Present) -> Missed {
    defer { missed = Missed(frames: 0) }
    return Missed(frames: missed.frames &+ now.passed, endBeat: missed.endBeat)
  }

  /// Until `due`, heard through its port, it goes on with `value`. Not for long: time is looked at now and then.
  @inline(__always)
  mutating func begin(
    _ now: inout Present, of subject: UInt64 = 0, _ window: Window, due: Double, value: Float = 0
  ) {
    let later = window.line.start - now.window.line.start
    until = min(due - later, now.end + window.grid.beatMicros / 4)
    laterBeats = later / window.grid.beatMicros
    stretch = now.stretch
    self.subject = subject
    self.value = value
  }
}

/// The cycles that an output has idled in.
struct Missed: BitwiseCopyable {
  /// From the last one that it was played in to this one.
  var frames: Int64
  /// Where the last of them ended at the output; nil: there was none.
  var endBeat: Double?
}
