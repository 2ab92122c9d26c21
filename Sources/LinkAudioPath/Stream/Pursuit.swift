// SPDX-License-Identifier: GPL-2.0-or-later

/// How something goes to a place that is only measured, again and again: at once where measurements agree with each other, slowly
/// where they are noise. All in microseconds.
///
/// What is wrong by less than the measurements may be is made up over the calm, so that their noise is not heard. What is wrong
/// by more is true, and each doubling of it is made up sixteen times as fast.
struct Pursuit: BitwiseCopyable {
  /// In this time it makes up what it may well be wrong about.
  static var calm: Double { 20e6 }
  /// So much is noise, however well the measurements agree: a fiftieth of a frame would do, but clocks count in microseconds.
  static var uncertainty: Double { 1 }
  /// How long measurements are averaged for the calm; and at most for the rest, where they are so rough.
  static var average: Double { 250_000 }
  static var longest: Double { 1e6 }
  /// How long it is remembered how rough they are; a stranger's are rather rough.
  static var memory: Double { 1e6 }
  static var strange: Double { 5 }
  /// One that is so many times rougher than usual is no noise, and counts for no more.
  static var roughest: Double { 4 }
  /// How far one is from the next on average, in deviations of a normal distribution: 2 divided by the root of pi.
  static var neighbours: Double { 1.128 }

  /// How fast it goes at most, of what passes: 0.9 cents. But a short way from where it was at rest, in microseconds, it may go faster,
  /// because it is there within a twentieth of a second: 3.5 cents.
  static var haste: Double { 0.0005 }
  static var shortHaste: Double { 0.002 }
  static var short: Double { 60 }
  static var rest: Double { 5 }

  private var roughness = Self.strange
  private var last = 0.0
  /// How far it is from its place, on average over as little as the noise allows, and over the longer.
  private var near = 0.0
  private var far = 0.0
  private var isLong = false

  init() {}

  /// It is there now. How rough measurements are is remembered.
  mutating func arrive() { (last, near, far, isLong) = (0, 0, 0, false) }

  /// It is so far from its place, by what is measured now, and `micros` passed. Returns how much of that is made up: with a part of the
  /// haste, of which `used` is used already.
  mutating func go(_ distance: Double, micros: Double, share: Double = 1, used: Double = 0) -> Double {
    let step = min(abs(distance - last), Self.roughest * roughness + Self.uncertainty)
    roughness += (step - roughness) * min(1, micros / Self.memory)
    // So many are averaged that what is left of their noise is a third of the uncertainty; if that takes too long, more is left.
    let noise = max(roughness / Self.neighbours, 0.01)
    let third = Self.uncertainty / 3 / noise
    let weight = min(1, max(2 * third * third, micros / Self.longest))
    let square = max(Self.uncertainty * Self.uncertainty, 4.5 * noise * noise * weight)
    near += (distance - near) * weight
    far += (distance - far) * min(1, micros / Self.average)
    let calmly = min(1, micros / Self.calm)
    let times = near * near / square
    let wanted = far * calmly + near * min(1, calmly * times * times)
    if abs(near) >= Self.short { isLong = true } else if abs(near) < Self.rest { isLong = false }
    let most = (isLong ? Self.haste : Self.shortHaste) * share * micros
    let made = min(max(0, most - used), max(min(0, -most - used), wanted))
    last = distance - made
    near -= made
    far -= made
    return made
  }
}
