// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// The line from a stream's places to host time. It gives the time of each sample's beat, without any delay.
///
/// A sender's crystal is steady, and `StampLoop` learns its rate. But the sender makes its stamps from the
/// times of its audio server, and these times wander: if a timer was milliseconds late, they jump by more
/// than a frame, and return within a second or two (facts: realtime 1). The sender's own click moves with
/// these times, and so must its sound. So the line bends toward the stamps, as fast as their noise allows and
/// no faster than the playhead can follow. A larger step of the stamps means that a clock was measured again.
///
/// The sound that is heard now has stamps that came earlier, by the delay. Its time is taken from the line as
/// it was then (`StreamClockHistory`).
struct StreamClock: BitwiseCopyable {
  /// The number of blocks in a second. The stamps of each block of 1/96 s are averaged.
  static var blocks: Int64 { 96 }
  /// The part of the playhead's correction speed (`AdaptiveSmoother.haste`) with which the line may bend. At
  /// this speed, the line moves less than half the way from a former grid to the new grid within the two
  /// seconds for which `Grids` remembers the former grid. If it came closer, a stamp could belong to either
  /// grid.
  static var share: Double { 0.7 }

  private var crystal = StampLoop()
  private var wander = AdaptiveSmoother()
  /// The microseconds by which this line is later than the crystal's line.
  private var bend = 0.0
  // The block of frames whose stamps are averaged now.
  private var blockFrames: Int64 = 500
  private var blockBegin: Int64 = 0
  private var sum = 0.0
  private var count = 0
  /// The microseconds by which stamps have moved the crystal's line in this block.
  private var moved = 0.0

  init() {}

  init(place: Int64, time: Double, sampleRate: UInt32) {
    crystal = StampLoop(place: place, time: time, sampleRate: sampleRate)
    blockFrames = max(1, Int64(sampleRate) / Self.blocks)
    blockBegin = place
  }

  var frameMicros: Double { crystal.frameMicros }

  /// The speed of the sender's card compared with its nominal rate, measured by our clock, in parts per
  /// million.
  var ppm: Double { crystal.ppm }

  /// The time of a place, by the newest stamps.
  func time(at place: Int64) -> Double { crystal.time(at: place) + bend }

  func place(at time: Double) -> Double { crystal.place(at: time - bend) }

  /// Moves the whole line and its past, because our own clock was corrected.
  mutating func shift(by micros: Double, _ past: inout StreamClockHistory) {
    crystal.step(by: micros)
    past.shift(by: micros)
  }

  /// Moves the line from here on, because the sender's clock was corrected.
  mutating func step(by micros: Double) { crystal.step(by: micros) }

  /// Begins again at this stamp, and keeps only the rate.
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

  /// Takes a stamp that continues the last stamp. It corrects the estimate of the crystal, and may also bend
  /// the line.
  mutating func follow(at place: Int64, _ stamp: Double, _ past: inout StreamClockHistory) {
    let before = crystal.time(at: place)
    crystal.measure(at: place, stamp)
    let now = crystal.time(at: place)
    moved += now - before
    sum += stamp - now
    count += 1
    advance(to: place, &past)
  }

  /// Ends the blocks that lie before `place`: bends the line, and records the line's times in the history.
  private mutating func advance(to place: Int64, _ past: inout StreamClockHistory) {
    guard place &- blockBegin >= blockFrames else { return }
    if count > 0 {
      let micros = Double(blockFrames) * frameMicros
      let distance = sum / Double(count) - bend
      bend += wander.go(distance, micros: micros, share: Self.share, used: moved)
    }
    (sum, count, moved) = (0, 0, 0)
    let blocks = (place &- blockBegin) / blockFrames
    // After a long gap, only the last blocks of the gap are recorded.
    for block in max(0, blocks &- Int64(StreamClockHistory.capacity))..<blocks {
      let begin = blockBegin &+ block &* blockFrames
      past.add(begin, time(at: begin), blockFrames: blockFrames)
    }
    blockBegin = blockBegin &+ blocks &* blockFrames
  }
}

/// The line's time at the begin of each recent block. Before the oldest of these blocks, the line counts as
/// straight.
struct StreamClockHistory: BitwiseCopyable {
  /// The number of blocks that are remembered: more than ten seconds.
  static var capacity: Int { 1024 }

  private var times = InlineArray<1024, Double>(repeating: 0)
  private var count = 0
  private var newest = 0
  private var newestPlace: Int64 = 0
  private var blockFrames: Int64 = 1
  /// The microseconds that are added to all stored times.
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

  /// The stored time of the block that is `age` blocks older than the newest block. The function is
  /// `mutating`, although it only reads, because otherwise each call would copy all times.
  private mutating func time(_ age: Int) -> Double { times[(newest - age + Self.capacity) % Self.capacity] }

  /// The place at a time; nil if the time is after the begin of the newest block.
  mutating func place(at time: Double, frameMicros: Double) -> Double? {
    let time = time - later
    guard count > 1, time < self.time(0) else { return nil }
    // Apart from bends, all blocks take the same time, so this guess is close.
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
