// SPDX-License-Identifier: GPL-2.0-or-later

/// The estimate of the sender's crystal: a straight line from a stream's places to time. `StreamClock` bends
/// this line.
///
/// The line is a least-squares line through the stamps, with a fading memory. If the difference of the
/// crystals is constant, the line has no lag. A single stamp moves it little. At first the line is fitted to
/// all stamps, later to those of the last 20 seconds. Its times may step (`step`); the sound does not,
/// because the playhead follows slowly.
struct StampLoop: BitwiseCopyable {
  /// `memory`: the time that is remembered, in microseconds. `fewest`: the least number of stamps that are
  /// remembered, however rare they are.
  static var memory: Double { 20e6 }
  static var fewest: Double { 32 }
  /// The nominal rate counts as if it had been measured for this time, in microseconds, because the first
  /// stamps say little about the real rate.
  static var prejudice: Double { 0.05e6 }
  /// The largest difference of a card's rate from its nominal rate, as a fraction.
  static var farthest: Double { 0.001 }

  /// The largest error of a stamp that is taken as it is, in microseconds. A larger error counts as this
  /// error.
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

  /// The speed of the sender's card compared with its nominal rate, measured by our clock, in parts per
  /// million.
  var ppm: Double { (nominal / frameMicros - 1) * 1e6 }

  /// Moves the line and keeps its slope, because a clock was corrected while the crystals stayed the same.
  mutating func step(by micros: Double) { time += micros }

  /// Begins again at this stamp, and keeps only the rate.
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
    // The two factors below are the weights of a least-squares line through `count` equally distant points.
    let count = age / elapsed
    time += error * 2 * (2 * count + 1) / ((count + 1) * (count + 2))
    let known = (age + Self.prejudice) / elapsed
    let rate = frameMicros + error / frames * 6 / ((known + 1) * (known + 2))
    frameMicros = min(nominal * (1 + Self.farthest), max(nominal * (1 - Self.farthest), rate))
  }
}
