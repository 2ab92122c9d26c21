// SPDX-License-Identifier: GPL-2.0-or-later

/// The largest distance of an event from its exact place in the last ten to twenty seconds.
struct Jitter: Sendable, BitwiseCopyable {
  /// After this number of frames (ten seconds at 48 kHz), a new maximum begins and the last one is kept as
  /// `before`.
  private static let memory: Int64 = 480_000

  private var worst: (now: Float, before: Float) = (0, 0)
  private var age: Int64 = 0

  var micros: Float { max(worst.now, worst.before) }

  mutating func count(framesOff: Double, _ window: Window) {
    worst.now = max(worst.now, Float(framesOff * window.line.frameMicros))
  }

  mutating func age(by frames: Int64) {
    age += frames
    guard age >= Self.memory else { return }
    worst = (0, worst.now)
    age = 0
  }
}
