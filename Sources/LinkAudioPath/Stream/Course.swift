// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// When the sample of each place was at its beat, in host time, without any delay: a stream's line from places to time.
///
/// A sender's card goes straight, and `StampLoop` knows how. But a sender goes by what its server says about time, and that
/// wanders: where a timer was late by milliseconds it jumps by more than a frame, and returns over a second or two (facts:
/// realtime 1). Its own click goes with it, and so must what is heard of it. So the line is bent to where the
/// stamps are, as fast as their noise allows, and not faster than the playhead can follow: what moves by more than a server's line does
/// is a clock that was measured again.
///
/// What is heard now was stamped a delay ago, and lies where the line was then.
struct Course: BitwiseCopyable {
  /// Stamps are averaged for so long, as a part of a second.
  static var blocks: Int64 { 96 }
  /// Of the haste that the playhead has, what the line may use. In the two seconds for which `Grids` remembers where the beats were, it
  /// gets less than half the way to where they are: a stamp in between might be either's.
  static var share: Double { 0.7 }

  private var crystal = StampLoop()
  private var wander = Pursuit()
  /// How much later it all is than by the crystal alone, in microseconds.
  private var bend = 0.0
  // The block that stamps come in for.
  private var blockFrames: Int64 = 500
  private var blockBegin: Int64 = 0
  private var sum = 0.0
  private var count = 0
  /// How far the crystal's line moved by itself in it.
  private var moved = 0.0

  init() {}

  init(place: Int64, time: Double, sampleRate: UInt32) {
    crystal = StampLoop(place: place, time: time, sampleRate: sampleRate)
    blockFrames = max(1, Int64(sampleRate) / Self.blocks)
    blockBegin = place
  }

  var frameMicros: Double { crystal.frameMicros }

  /// How much faster than its nominal rate the sender's card runs, by our clock.
  var ppm: Double { crystal.ppm }

  /// By the newest stamps.
  func time(at place: Int64) -> Double { crystal.time(at: place) + bend }

  func place(at time: Double) -> Double { crystal.place(at: time - bend) }

  /// All of it is so many microseconds later: our own clock was corrected.
  mutating func shift(by micros: Double, _ past: inout Past) {
    crystal.step(by: micros)
    past.shift(by: micros)
  }

  /// From here on it is so many microseconds later: the sender's clock was corrected.
  mutating func step(by micros: Double) { crystal.step(by: micros) }

  /// Forgets all but the rate, and goes through this stamp.
  mutating func restart(at place: Int64, _ stamp: Double, _ past: inout Past) {
    advance(to: place, &past)
    crystal.restart(at: place, stamp)
    bend = 0
    wander.arrive()
  }

  /// The stamp at this place says so. It is one of few, or does not go on from those before: it says something about the crystal alone.
  mutating func measure(at place: Int64, _ stamp: Double, _ past: inout Past) {
    let before = crystal.time(at: place)
    crystal.measure(at: place, stamp)
    moved += crystal.time(at: place) - before
    advance(to: place, &past)
  }

  /// The same, of one that goes on from the last.
  mutating func follow(at place: Int64, _ stamp: Double, _ past: inout Past) {
    let before = crystal.time(at: place)
    crystal.measure(at: place, stamp)
    let now = crystal.time(at: place)
    moved += now - before
    sum += stamp - now
    count += 1
    advance(to: place, &past)
  }

  /// The block ends before this place: where it was is known now.
  private mutating func advance(to place: Int64, _ past: inout Past) {
    guard place &- blockBegin >= blockFrames else { return }
    if count > 0 {
      let micros = Double(blockFrames) * frameMicros
      let distance = sum / Double(count) - bend
      bend += wander.go(distance, micros: micros, share: Self.share, used: moved)
    }
    (sum, count, moved) = (0, 0, 0)
    let blocks = (place &- blockBegin) / blockFrames
    // Of a long gap the end is enough.
    for block in max(0, blocks &- Int64(Past.capacity))..<blocks {
      let begin = blockBegin &+ block &* blockFrames
      past.add(begin, time(at: begin), blockFrames: blockFrames)
    }
    blockBegin = blockBegin &+ blocks &* blockFrames
  }
}

/// Where the line was at the begin of each of the last blocks; what is older goes on straight from there.
struct Past: BitwiseCopyable {
  /// Ten seconds.
  static var capacity: Int { 1024 }

  private var times = InlineArray<1024, Double>(repeating: 0)
  private var count = 0
  private var newest = 0
  private var newestPlace: Int64 = 0
  private var blockFrames: Int64 = 1
  /// All of them are later by this.
  private var later = 0.0

  init() {}

  mutating func shift(by micros: Double) { later += micros }

  mutating func add(_ place: Int64, _ time: Double, blockFrames: Int64) {
    newest = (newest + 1) % Self.capacity
    times[newest] = time - later
    newestPlace = place
    self.blockFrames = blockFrames
    count = min(count + 1, Self.capacity)
  }

  /// Of the block that is so much older than the newest. `mutating` although it only reads: otherwise all of them would be copied
  /// for the call.
  private mutating func time(_ age: Int) -> Double { times[(newest - age + Self.capacity) % Self.capacity] }

  /// Nil: behind the newest.
  mutating func place(at time: Double, frameMicros: Double) -> Double? {
    let time = time - later
    guard count > 1, time < self.time(0) else { return nil }
    // They are as far apart as a block is long, but for the bends: it is not far from there.
    let guess = (self.time(0) - time) / (Double(blockFrames) * frameMicros)
    var age = Int(min(Double(count - 1), max(1, guess)))
    while age < count - 1, self.time(age) > time { age += 1 }
    while age > 1, self.time(age - 1) <= time { age -= 1 }
    let before = self.time(age)
    let micros = self.time(age - 1) - before
    let place = Double(newestPlace &- Int64(age) &* blockFrames)
    guard before <= time, micros > 0 else { return place + (time - before) / frameMicros }
    return place + Double(blockFrames) * ((time - before) / micros)
  }
}
