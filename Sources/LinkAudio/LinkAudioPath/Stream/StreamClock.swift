// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// The line from a stream's places to time: when each sample was at its beat, in host time, without any
/// delay.
///
/// A sender's crystal is steady, and `StampLoop` learns it. But the sender stamps by its server's times, and
/// these wander: after a timer that was milliseconds late they jump by more than a frame, and return within a
/// second or two (facts: realtime 1). The sender's own click moves with them, and so must its sound. So the
/// line bends toward the stamps, as fast as their noise allows and no faster than the playhead can follow. A
/// larger step means that a clock was measured again.
///
/// The sound that is heard now was stamped a delay ago; its time comes from the line as it was then
/// (`StreamClockHistory`).
struct StreamClock: BitwiseCopyable {
  /// Stamps are averaged over this part of a second (1/96).
  static var blocks: Int64 { 96 }
  /// The part of the playhead's speed (`AdaptiveSmoother.haste`) that bends of the line may use. Within the
  /// two seconds for which `Grids` remembers a former grid, the line then moves less than half the way to the
  /// new grid; any closer, a stamp could belong to either.
  static var share: Double { 0.7 }

  private var crystal = StampLoop()
  private var wander = AdaptiveSmoother()
  /// Microseconds by which the line is behind the crystal's line.
  private var bend = 0.0
  // The block of frames whose stamps are averaged now.
  private var blockFrames: Int64 = 500
  private var blockBegin: Int64 = 0
  private var sum = 0.0
  private var count = 0
  /// How far the crystal's line has moved in this block.
  private var moved = 0.0

  init() {}

  init(place: Int64, time: Double, sampleRate: UInt32) {
    crystal = StampLoop(place: place, time: time, sampleRate: sampleRate)
    blockFrames = max(1, Int64(sampleRate) / Self.blocks)
    blockBegin = place
  }

  var frameMicros: Double { crystal.frameMicros }

  /// Speed of the sender's card against its nominal rate, by our clock.
  var ppm: Double { crystal.ppm }

  /// The time of a place, by the newest stamps.
  func time(at place: Int64) -> Double { crystal.time(at: place) + bend }

  func place(at time: Double) -> Double { crystal.place(at: time - bend) }

  /// Moves the whole line, past included: our own clock was corrected.
  mutating func shift(by micros: Double, _ past: inout StreamClockHistory) {
    crystal.step(by: micros)
    past.shift(by: micros)
  }

  /// Moves the line from here on: the sender's clock was corrected.
  mutating func step(by micros: Double) { crystal.step(by: micros) }

  /// Keeps only the rate, and begins at this stamp.
  mutating func restart(at place: Int64, _ stamp: Double, _ past: inout StreamClockHistory) {
    advance(to: place, &past)
    crystal.restart(at: place, stamp)
    bend = 0
    wander.arrive()
  }

  /// Takes a stamp that comes long after the last stamp, or does not continue it. Such a stamp corrects only
  /// the estimate of the sender's crystal.
  mutating func measure(at place: Int64, _ stamp: Double, _ past: inout StreamClockHistory) {
    let before = crystal.time(at: place)
    crystal.measure(at: place, stamp)
    moved += crystal.time(at: place) - before
    advance(to: place, &past)
  }

  /// Takes a stamp that continues the last: it may also bend the line.
  mutating func follow(at place: Int64, _ stamp: Double, _ past: inout StreamClockHistory) {
    let before = crystal.time(at: place)
    crystal.measure(at: place, stamp)
    let now = crystal.time(at: place)
    moved += now - before
    sum += stamp - now
    count += 1
    advance(to: place, &past)
  }

  /// Ends the blocks before this place: bends the line, and records where it was.
  private mutating func advance(to place: Int64, _ past: inout StreamClockHistory) {
    guard place &- blockBegin >= blockFrames else { return }
    if count > 0 {
      let micros = Double(blockFrames) * frameMicros
      let distance = sum / Double(count) - bend
      bend += wander.go(distance, micros: micros, share: Self.share, used: moved)
    }
    (sum, count, moved) = (0, 0, 0)
    let blocks = (place &- blockBegin) / blockFrames
    // Past a long gap, only its end is recorded.
    for block in max(0, blocks &- Int64(StreamClockHistory.capacity))..<blocks {
      let begin = blockBegin &+ block &* blockFrames
      past.add(begin, time(at: begin), blockFrames: blockFrames)
    }
    blockBegin = blockBegin &+ blocks &* blockFrames
  }
}

/// The line's time at the begin of each recent block; before those it continues straight.
struct StreamClockHistory: BitwiseCopyable {
  /// Ten seconds of blocks.
  static var capacity: Int { 1024 }

  private var times = InlineArray<1024, Double>(repeating: 0)
  private var count = 0
  private var newest = 0
  private var newestPlace: Int64 = 0
  private var blockFrames: Int64 = 1
  /// Offset of all times, in microseconds.
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

  /// The time of the block this much older than the newest. `mutating` although it only reads: otherwise each
  /// call would copy all times.
  private mutating func time(_ age: Int) -> Double { times[(newest - age + Self.capacity) % Self.capacity] }

  /// The place at a time; nil if the time is after the newest block.
  mutating func place(at time: Double, frameMicros: Double) -> Double? {
    let time = time - later
    guard count > 1, time < self.time(0) else { return nil }
    // Blocks are equally long except for the bends, so this guess is near.
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
