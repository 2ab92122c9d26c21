// SPDX-License-Identifier: GPL-2.0-or-later

/// The straight line from a stream's places to time that `Course` bends: the sender's crystal.
///
/// Follows it by the stamps. Each stamp is a measurement, not a position: the line is a fit of second order
/// with a memory, so it has no lag at a constant difference of the crystals, and a single stamp moves it by little. It begins
/// as the straight line through all that there is and becomes slow as it gets to know more. What it says may step
/// (`step`); what is heard does not: the playhead goes there slowly.
struct StampLoop: BitwiseCopyable {
  /// What is older counts for little, in microseconds; but so many stamps are remembered, however seldom they come.
  static var memory: Double { 20e6 }
  static var fewest: Double { 32 }
  /// As if for so long the nominal rate had been seen: the first stamps say little about a rate.
  static var prejudice: Double { 0.05e6 }
  /// No card is further from its nominal rate.
  static var farthest: Double { 0.001 }

  /// A stamp that is further off is of no more weight, in microseconds.
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

  /// How much faster than its nominal rate the sender's card runs, by our clock.
  var ppm: Double { (nominal / frameMicros - 1) * 1e6 }

  /// All of the line is so many microseconds later: a clock was corrected, and no crystal changed.
  mutating func step(by micros: Double) { time += micros }

  /// Forgets all but the rate, and goes through this stamp.
  mutating func restart(at place: Int64, _ stamp: Double) {
    self.place = Double(place)
    time = stamp
    age = 0
  }

  /// The stamp at this place says so.
  mutating func measure(at place: Int64, _ stamp: Double) {
    let frames = Double(place) - self.place
    guard frames > 0 else { return }
    let elapsed = frames * frameMicros
    self.place = Double(place)
    time += elapsed
    age = min(age + elapsed, max(Self.memory, Self.fewest * elapsed))
    let error = min(Self.largest, max(-Self.largest, stamp - time))
    // The weights of a straight line through as many points as fit into its age.
    let count = age / elapsed
    time += error * 2 * (2 * count + 1) / ((count + 1) * (count + 2))
    let known = (age + Self.prejudice) / elapsed
    let rate = frameMicros + error / frames * 6 / ((known + 1) * (known + 2))
    frameMicros = min(nominal * (1 + Self.farthest), max(nominal * (1 - Self.farthest), rate))
  }
}
