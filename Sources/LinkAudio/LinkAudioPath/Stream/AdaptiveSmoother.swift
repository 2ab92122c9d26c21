// SPDX-License-Identifier: GPL-2.0-or-later

/// Follows a target that is only known from noisy measurements: at once if they agree with each other, slowly
/// if they are rough. All values are in microseconds.
///
/// An error within the noise is corrected with the time constant `calm`, so that the noise is not heard. A
/// larger error is real, and each doubling is corrected sixteen times as fast.
struct AdaptiveSmoother: BitwiseCopyable {
  /// Time constant for errors within the noise.
  static var calm: Double { 20e6 }
  /// Least noise that we assume, because clocks count whole microseconds.
  static var uncertainty: Double { 1 }
  /// Averaging time for the calm correction; longest averaging time for the fast one, with rough
  /// measurements.
  static var average: Double { 250_000 }
  static var longest: Double { 1e6 }
  /// Time constant of the estimated roughness, and its value before the first measurements.
  static var memory: Double { 1e6 }
  static var strange: Double { 5 }
  /// A change is counted as at most this multiple of the usual roughness: a larger change is not noise.
  static var roughest: Double { 4 }
  /// Mean distance of two normally distributed values, in standard deviations: 2 divided by the root of pi.
  static var neighbours: Double { 1.128 }

  /// Largest correction per elapsed time: 0.9 cents. An error up to `short` may use 3.5 cents, since it takes
  /// less than a twentieth of a second. After a longer one, the error must first fall below `rest`.
  static var haste: Double { 0.0005 }
  static var shortHaste: Double { 0.002 }
  static var short: Double { 60 }
  static var rest: Double { 5 }

  private var roughness = Self.strange
  private var last = 0.0
  /// Mean error: over as few measurements as the noise allows, and over a longer time.
  private var near = 0.0
  private var far = 0.0
  private var isLong = false

  init() {}

  /// Notes that the target is reached. The roughness is kept.
  mutating func arrive() { (last, near, far, isLong) = (0, 0, 0, false) }

  /// Takes the measured error after `micros` have passed. Returns the correction, which uses up to `share` of
  /// the largest one, minus what is `used` already.
  mutating func go(_ distance: Double, micros: Double, share: Double = 1, used: Double = 0) -> Double {
    let step = min(abs(distance - last), Self.roughest * roughness + Self.uncertainty)
    roughness += (step - roughness) * min(1, micros / Self.memory)
    // Averages until the remaining noise is a third of the uncertainty, but no longer than `longest`.
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
