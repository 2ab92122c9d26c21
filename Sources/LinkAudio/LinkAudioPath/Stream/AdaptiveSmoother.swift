// SPDX-License-Identifier: GPL-2.0-or-later

/// Follows a target that is known only from noisy measurements. If the measurements agree with each other, it
/// follows at once; if they scatter, it follows slowly. All values are in microseconds.
///
/// An error within the noise is corrected with the time constant `calm`, so that the noise is not heard. A
/// larger error is real: an error that is twice as large is corrected sixteen times as fast.
struct AdaptiveSmoother: BitwiseCopyable {
  /// The time constant of corrections for errors within the noise.
  static var calm: Double { 20e6 }
  /// The least noise that we assume, because clocks count whole microseconds.
  static var uncertainty: Double { 1 }
  /// `average`: the averaging time for the correction of errors within the noise. `longest`: the longest
  /// averaging time for the correction of larger errors; it is used if the measurements are rough.
  static var average: Double { 250_000 }
  static var longest: Double { 1e6 }
  /// `memory`: the time constant of the estimated roughness. `strange`: the roughness that is assumed before
  /// the first measurements.
  static var memory: Double { 1e6 }
  static var strange: Double { 5 }
  /// A change adds at most this multiple of the usual roughness to the estimate, because a larger change is
  /// not noise.
  static var roughest: Double { 4 }
  /// The mean distance of two normally distributed values, in standard deviations: 2 divided by the root of
  /// pi.
  static var neighbours: Double { 1.128 }

  /// `haste`: the largest correction per elapsed time, which changes the pitch by 0.9 cents. For an error of
  /// at most `short`, the limit is `shortHaste`, 3.5 cents, since that correction takes less than a twentieth
  /// of a second. After a larger error, `haste` is the limit until the error is below `rest`.
  static var haste: Double { 0.0005 }
  static var shortHaste: Double { 0.002 }
  static var short: Double { 60 }
  static var rest: Double { 5 }

  private var roughness = Self.strange
  private var last = 0.0
  /// `near`: the mean error over as few measurements as the noise allows. `far`: the mean error over a longer
  /// time (`average`).
  private var near = 0.0
  private var far = 0.0
  private var isLong = false

  init() {}

  /// Notes that the target is reached. The estimated roughness is kept.
  mutating func arrive() { (last, near, far, isLong) = (0, 0, 0, false) }

  /// Takes the error that was measured `micros` after the last error. Returns the correction to make. The
  /// correction is at most `share` of the largest allowed correction, of which the part `used` is used
  /// already.
  mutating func go(_ distance: Double, micros: Double, share: Double = 1, used: Double = 0) -> Double {
    let step = min(abs(distance - last), Self.roughest * roughness + Self.uncertainty)
    roughness += (step - roughness) * min(1, micros / Self.memory)
    // The average covers enough measurements to reduce the noise to a third of the uncertainty, but no more
    // time than `longest`.
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
