// SPDX-License-Identifier: GPL-2.0-or-later

/// The latest samples of a stream, found by their places. Samples from the place `end` on have not come yet.
/// Samples before `floor` belonged to another stream.
struct Ring: BitwiseCopyable {
  enum State {
    static var missing: UInt8 { 0 }
    static var real: UInt8 { 1 }
    /// The sample was made by concealment, because it was due and had not come.
    static var filled: UInt8 { 2 }
  }

  /// The number of samples from the beginning of the memory that are repeated after its end, so that a kernel
  /// can read all its samples from adjacent memory.
  static var mirrored: Int { 2 * Reach.most + 8 }
  static var least: Int { 65_536 }
  static var most: Int { 1 << 24 }

  let left: UnsafeMutablePointer<Float>
  let right: UnsafeMutablePointer<Float>
  private let states: UnsafeMutablePointer<UInt8>
  let capacity: Int64
  private let mask: Int64
  private(set) var floor: Int64 = 0
  private(set) var end: Int64 = 0

  static func capacity(for frames: Int) -> Int {
    var size = least
    while size < frames && size < most { size <<= 1 }
    return size
  }

  static func bytes(frames: Int) -> Int {
    let size = capacity(for: frames)
    return 2 * 4 * (size + mirrored) + size
  }

  init(in memory: UnsafeMutableRawPointer, frames: Int) {
    let size = Self.capacity(for: frames)
    let floats = 2 * (size + Self.mirrored)
    left = memory.initializeMemory(as: Float.self, repeating: 0, count: floats)
    right = left + (size + Self.mirrored)
    states = (memory + 4 * floats).initializeMemory(as: UInt8.self, repeating: State.missing, count: size)
    capacity = Int64(size)
    mask = Int64(size) - 1
  }

  /// The most frames beyond the playhead where samples may be written. The rest of the ring has samples
  /// behind the playhead, which are still read.
  var longestAhead: Int64 { capacity - 8192 }

  /// The index of a place's sample in `left` and in `right`.
  @inline(__always)
  func index(_ place: Int64) -> Int { Int(truncatingIfNeeded: place & mask) }

  @inline(__always)
  func state(_ place: Int64) -> UInt8 {
    place < floor || place >= end ? State.missing : states[index(place)]
  }

  @inline(__always)
  func sample(_ place: Int64) -> SIMD2<Float> {
    SIMD2(left[index(place)], right[index(place)])
  }

  @inline(__always)
  func put(_ sample: SIMD2<Float>, at place: Int64) {
    let index = index(place)
    left[index] = sample.x
    right[index] = sample.y
    if index < Self.mirrored {
      left[Int(capacity) + index] = sample.x
      right[Int(capacity) + index] = sample.y
    }
  }

  /// Stores a concealed sample. If the place is at or after `end`, its state is not changed: `write` sets the
  /// state when a chunk comes.
  @inline(__always)
  func fill(_ sample: SIMD2<Float>, at place: Int64) {
    put(sample, at: place)
    if place >= floor && place < end { states[index(place)] = State.filled }
  }

  /// Whether all these places are present and quieter than `level`.
  func isSilent(_ places: Range<Int64>, below level: Float) -> Bool {
    guard places.lowerBound >= floor, places.upperBound <= end else { return false }
    for place in places {
      let sample = sample(place)
      if state(place) == State.missing || abs(sample.x) >= level || abs(sample.y) >= level { return false }
    }
    return true
  }

  /// Begins a new stream. Its first place is `capacity`, so that places stay small numbers over many streams.
  mutating func begin() {
    end = capacity
    floor = end
  }

  /// Writes a chunk's samples from `place` on, but none before `first`. Where received samples lie already,
  /// they stay, and the last of them crossfade into the chunk's samples.
  mutating func write(
    _ samples: UnsafeBufferPointer<Float>, channels: Int, frames: Int, at place: Int64, from first: Int64,
    fade: Int
  ) {
    let oldEnd = end
    extend(to: place &+ Int64(frames))
    let overlap = max(1, min(Int64(fade), oldEnd &- place))
    for frame in 0..<frames {
      let here = place &+ Int64(frame)
      if here < max(first, floor) { continue }
      let start = frame * channels
      let sample = Self.clean(SIMD2(samples[start], samples[start + channels - 1]))
      let isThere = here < oldEnd && states[index(here)] == State.real
      if isThere {
        let share = Float(here &- (oldEnd &- overlap) &+ 1) / Float(overlap &+ 1)
        if share > 0 { put(self.sample(here) * (1 - share) + sample * share, at: here) }
      } else {
        put(sample, at: here)
        states[index(here)] = State.real
      }
    }
  }

  private mutating func extend(to place: Int64) {
    guard place > end else { return }
    var next = max(end, place &- capacity)
    while next < place {
      states[index(next)] = State.missing
      next += 1
    }
    end = place
  }

  /// Limits samples to -2...2. NaN becomes 0.
  @inline(__always)
  private static func clean(_ sample: SIMD2<Float>) -> SIMD2<Float> {
    SIMD2(clean(sample.x), clean(sample.y))
  }

  @inline(__always)
  private static func clean(_ value: Float) -> Float { value >= -2 ? min(2, value) : value < -2 ? -2 : 0 }
}
