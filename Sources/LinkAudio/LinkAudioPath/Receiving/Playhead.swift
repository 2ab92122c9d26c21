// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// The place in the stream that the output plays, and its speed.
struct Playhead: BitwiseCopyable {
  /// The largest error of the playhead, in microseconds, that is corrected by a slow move. After a larger
  /// error, the playhead jumps to its place with a crossfade.
  static var farthest: Double { 2000 }
  /// The number of crossfades that would fit into a second: a crossfade lasts 1/250 s.
  static var fades: UInt32 { 250 }

  /// The place in the stream of the output's next frame.
  private(set) var place = 0.0
  /// The number of stream frames per output frame in the last period.
  private(set) var step = 1.0
  private var pursuit = AdaptiveSmoother()
  /// `fadeLeft`: the frames that are left of the fade-in. `fadeFrames`: the length of the whole fade-in.
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

  /// Sets the speed for a period that should play the stream from the place `first` to the place `end`. If
  /// the playhead is not at `first`, it moves there so slowly that the move is inaudible. So the jitter of
  /// the cycles' times does not become jitter of the sound.
  mutating func aim(from first: Double, to end: Double, frames: Int, micros: Double) {
    let length = end - first
    let frameMicros = micros / max(1, length)
    let made = pursuit.go((place - first) * frameMicros, micros: micros)
    step = (length - made / frameMicros) / Double(frames)
  }

  mutating func advance(frames: Int) { place += step * Double(frames) }

  /// Returns the fade-in's gain for the next frame, and advances the fade-in by this frame.
  @inline(__always)
  mutating func gain() -> Float {
    guard fadeLeft > 0 else { return 1 }
    let gain = presentGain
    fadeLeft -= 1
    return gain
  }

  /// The fade-in's gain for the next frame.
  var presentGain: Float { fadeLeft > 0 ? Self.curve(1 - Float(fadeLeft) / Float(fadeFrames)) : 1 }

  /// A smooth curve from 0 to 1 for fades. The gains of the two sides of a crossfade add up to 1.
  @inline(__always)
  static func curve(_ part: Float) -> Float { part * part * (3 - 2 * part) }
}

/// The fade-out of a sound that ended. It is computed as soon as the sound ends, while the sound's stream is
/// still in the ring.
struct FadeOut: BitwiseCopyable {
  /// The number of frames in the buffer: at least as many as a crossfade has at 192 kHz.
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

  /// Begins a fade-out. If an earlier fade-out is not over, its rest is added to the new one.
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
  mutating func advance() -> SIMD2<Float> {
    guard next < end else { return SIMD2(repeating: 0) }
    next += 1
    return samples[next - 1]
  }
}
