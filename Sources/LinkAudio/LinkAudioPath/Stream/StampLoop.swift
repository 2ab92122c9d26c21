// SPDX-License-Identifier: GPL-2.0-or-later

/// The sender's crystal: the straight line from a stream's places to time, which `StreamClock` bends.
///
/// A least-squares line through the stamps, with a fading memory. It has no lag at a constant difference of
/// the crystals, and a single stamp moves it little. It starts as the line through all stamps and slows down
/// as it learns. Its values may step (`step`); the sound does not, because the playhead follows slowly.
struct StampLoop: BitwiseCopyable {
  /// Memory in microseconds; but at least this many stamps are remembered, however rare they are.
  static var memory: Double { 20e6 }
  static var fewest: Double { 32 }
  /// The nominal rate counts as if it had been seen for this long, because the first stamps say little about
  /// the rate.
  static var prejudice: Double { 0.05e6 }
  /// Largest error of a card's rate.
  static var farthest: Double { 0.001 }

  /// Error at which a stamp's weight stops growing, in microseconds.
  static var largest: Double { 2000 }

  private var place = 0.0
  private var time = 0.0
  private(set) var frameMicros = 20.0
  private var nominal = 20.0
  private var age = 0.0

  init() {}

  init(place: Int64, time: Double, sampleRate: UInt32) {
    self.place = Double(place)
    self.time = time
    nominal = 1e6 / Double(max(1, sampleRate))
    frameMicros = nominal
  }

  func time(at place: Int64) -> Double { time + (Double(place) - self.place) * frameMicros }

  func place(at time: Double) -> Double { place + (time - self.time) / frameMicros }

  /// Speed of the sender's card against its nominal rate, by our clock.
  var ppm: Double { (nominal / frameMicros - 1) * 1e6 }

  /// Moves the line: a clock was corrected, and no crystal changed.
  mutating func step(by micros: Double) { time += micros }

  /// Keeps only the rate, and begins at this stamp.
  mutating func restart(at place: Int64, _ stamp: Double) {
    self.place = Double(place)
    time = stamp
    age = 0
  }

  /// Corrects the line by the stamp of a place.
  mutating func measure(at place: Int64, _ stamp: Double) {
    let frames = Double(place) - self.place
    guard frames > 0 else { return }
    let elapsed = frames * frameMicros
    self.place = Double(place)
    time += elapsed
    age = min(age + elapsed, max(Self.memory, Self.fewest * elapsed))
    let error = min(Self.largest, max(-Self.largest, stamp - time))
    // Weights of a least-squares line through as many points as fit into the age.
    let count = age / elapsed
    time += error * 2 * (2 * count + 1) / ((count + 1) * (count + 2))
    let known = (age + Self.prejudice) / elapsed
    let rate = frameMicros + error / frames * 6 / ((known + 1) * (known + 2))
    frameMicros = min(nominal * (1 + Self.farthest), max(nominal * (1 - Self.farthest), rate))
  }
}
