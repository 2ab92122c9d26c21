// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// Where in the stream the output is, and how fast it goes on.
struct Playhead: BitwiseCopyable {
  /// Further from its place than this it goes there in one step, crossfaded; less is reached slowly.
  static var farthest: Double { 2000 }
  /// How fast it may run to reach its place: 0.9 cents.
  static var haste: Double { 0.0005 }
  /// So far, in microseconds, it may be wrong and be in no haste: the calm is the time in which it makes that up.
  static var uncertainty: Double { 1 }
  static var calm: Double { 20e6 }
  /// How long the cycles' times are averaged for it: each for itself is wrong by more.
  static var average: Double { 250_000 }
  /// A crossfade, as a part of a second.
  static var fades: UInt32 { 250 }

  /// Of the output's next frame.
  private(set) var place = 0.0
  /// Stream frames per output frame, in the last period.
  private(set) var step = 1.0
  /// How far it is ahead of where it should be, on average, in stream frames.
  private var ahead = 0.0
  /// Frames until it has faded in, of so many.
  private var fadeLeft = 0
  private var fadeFrames = 1
  private(set) var isPlaying = false

  init() {}

  mutating func stop() { isPlaying = false }

  mutating func sit(at place: Double, sampleRate: UInt32) {
    self.place = place
    ahead = 0
    isPlaying = true
    fadeFrames = max(1, Int(sampleRate / Self.fades))
    fadeLeft = fadeFrames
  }

  /// A period whose frames should lie from `first` to `end`. What is wrong is made up in it as far as that is not heard: a
  /// few microseconds within seconds, so that the jitter of the cycles' times is no jitter of the sound; more of it sooner.
  mutating func aim(from first: Double, to end: Double, frames: Int, micros: Double) {
    let length = end - first
    ahead += (place - first - ahead) * min(1, micros / Self.average)
    let distance = ahead * micros / max(1, length) / Self.uncertainty
    let share = min(1, micros / Self.calm * (1 + distance * distance))
    let most = Self.haste * abs(length)
    let made = min(most, max(-most, ahead * share))
    ahead -= made
    step = (length - made) / Double(frames)
  }

  mutating func advance(frames: Int) { place += step * Double(frames) }

  /// How loud the next frame is while it fades in.
  @inline(__always)
  mutating func gain() -> Float {
    guard fadeLeft > 0 else { return 1 }
    let gain = presentGain
    fadeLeft -= 1
    return gain
  }

  /// The same without going on.
  var presentGain: Float { fadeLeft > 0 ? Self.curve(1 - Float(fadeLeft) / Float(fadeFrames)) : 1 }

  /// From 0 to 1 without a bend at its ends; of two that cross, one is what the other leaves.
  @inline(__always)
  static func curve(_ part: Float) -> Float { part * part * (3 - 2 * part) }
}

/// The end of what was played, on its way out: computed at once, when its stream is still there.
struct Tail: BitwiseCopyable {
  /// More than a crossfade at 192 kHz.
  static var frames: Int { 1024 }
  static var bytes: Int { 2 * 4 * frames }

  private let samples: UnsafeMutablePointer<SIMD2<Float>>
  private var next = 0
  private var end = 0

  init(in memory: UnsafeMutableRawPointer) {
    samples = memory.initializeMemory(
      as: SIMD2<Float>.self, repeating: SIMD2(repeating: 0), count: Self.frames)
  }

  var isSounding: Bool { next < end }

  /// What still is to come of a tail before is added to the new one.
  mutating func begin(frames: Int, _ sample: (Int) -> SIMD2<Float>) {
    let old = end - next
    let length = max(frames, old)
    for frame in 0..<length {
      let before = frame < old ? samples[next + frame] : SIMD2(repeating: 0)
      samples[frame] = frame < frames ? before + sample(frame) : before
    }
    next = 0
    end = length
  }

  @inline(__always)
  mutating func take() -> SIMD2<Float> {
    guard next < end else { return SIMD2(repeating: 0) }
    next += 1
    return samples[next - 1]
  }
}
