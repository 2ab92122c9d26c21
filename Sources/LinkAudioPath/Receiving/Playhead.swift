// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// Where in the stream the output is, and how fast it goes on.
struct Playhead: BitwiseCopyable {
  /// Further from its place than this it goes there in one step, crossfaded; less is reached slowly.
  static var farthest: Double { 2000 }
  /// A crossfade, as a part of a second.
  static var fades: UInt32 { 250 }

  /// Of the output's next frame.
  private(set) var place = 0.0
  /// Stream frames per output frame, in the last period.
  private(set) var step = 1.0
  private var pursuit = Pursuit()
  /// Frames until it has faded in, of so many.
  private var fadeLeft = 0
  private var fadeFrames = 1
  private(set) var isPlaying = false

  init() {}

  mutating func stop() { isPlaying = false }

  mutating func sit(at place: Double, sampleRate: UInt32) {
    self.place = place
    pursuit.arrive()
    isPlaying = true
    fadeFrames = max(1, Int(sampleRate / Self.fades))
    fadeLeft = fadeFrames
  }

  /// A period whose frames should lie from `first` to `end`. What is wrong is made up in it as far as that is not heard: the jitter
  /// of the cycles' times is no jitter of the sound.
  mutating func aim(from first: Double, to end: Double, frames: Int, micros: Double) {
    let length = end - first
    let frameMicros = micros / max(1, length)
    let made = pursuit.go((place - first) * frameMicros, micros: micros)
    step = (length - made / frameMicros) / Double(frames)
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
