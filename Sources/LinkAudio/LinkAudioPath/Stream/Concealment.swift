// SPDX-License-Identifier: GPL-2.0-or-later

/// Fills the gaps of a stream before the stream is played. In a gap the sound before it is repeated for a
/// short time and fades, and the sound after the gap blends in. The fill is written into the ring, so that
/// the interpolator sees no gaps.
struct Concealment: BitwiseCopyable {
  /// The longest part of a gap that is filled, in seconds. The rest of the gap is silence.
  static var longest: Double { 0.02 }

  /// The place up to which the stream has no gaps. It may have been played up to there.
  private(set) var mark: Int64 = 0
  private(set) var concealed: UInt64 = 0
  private(set) var dropouts: UInt64 = 0
  /// The place where the current gap begins.
  private var start: Int64 = 0
  private var isInGap = false
  /// The number of frames in which the repeated sound still has to blend into the received sound.
  private var blend: Int64 = 0
  private var period: Int64 = 0
  /// The place at which `period` was searched last.
  private var searched = Int64.min / 2
  private(set) var searches: UInt64 = 0
  /// The difference between the last sample before the gap and the sample from which the sound is repeated.
  /// The difference is added and fades within a millisecond, so that there is no step.
  private var step = SIMD2<Float>(repeating: 0)

  init() {}

  /// Continues at another place. The caller fades in the sound from there.
  mutating func restart(at place: Int64) {
    mark = place
    isInGap = false
    blend = 0
  }

  /// Fills all gaps before the place `limit`. [audio]
  mutating func complete(_ ring: inout Ring, to limit: Int64, sampleRate: UInt32) {
    let fade = Int64(sampleRate) / 400
    let long = Int64(Double(sampleRate) * Self.longest)
    while mark < limit {
      if ring.state(mark) != Ring.State.missing {
        if isInGap { leave(blend: fade, long: long) }
        if blend > 0 {
          let share = Float(blend) / Float(fade + 1)
          let made = extrapolated(ring, long: long)
          ring.put(ring.sample(mark) * (1 - share) + made * share, at: mark)
          blend -= 1
        }
      } else {
        if !isInGap { enter(ring, sampleRate: sampleRate) }
        ring.fill(extrapolated(ring, long: long), at: mark)
      }
      mark += 1
    }
  }

  private mutating func leave(blend fade: Int64, long: Int64) {
    isInGap = false
    blend = fade
    if mark &- start > long && start > Int64.min { dropouts &+= 1 }
  }

  private mutating func enter(_ ring: Ring, sampleRate: UInt32) {
    isInGap = true
    start = mark
    // The search takes time. Even if every second sample is missing, it must not run for each gap.
    if mark < searched || mark &- searched >= Int64(sampleRate) / 400 {
      period = Self.period(of: ring, before: mark, sampleRate: sampleRate)
      searched = mark
      searches &+= 1
    }
    guard period > 0 else {
      // Before the first sample of a stream nothing can be repeated, and nothing counts as concealed.
      step = ring.state(mark - 1) == Ring.State.missing ? SIMD2(repeating: 0) : ring.sample(mark - 1)
      if mark < ring.floor { start = .min } else { concealed &+= 1 }
      return
    }
    concealed &+= 1
    step = ring.sample(mark - 1) - ring.sample(mark - 1 - period)
  }

  /// The sample at `mark` if the sound's last period is repeated there.
  private func extrapolated(_ ring: Ring, long: Int64) -> SIMD2<Float> {
    let age = mark &- start
    guard start != .min, age >= 0, age < long else { return SIMD2(repeating: 0) }
    let level = min(1, 2 * Float(long - age) / Float(long))
    let join = max(0, 1 - Float(age) * 20 / Float(long))
    guard period > 0 else { return step * join }
    let phase = age % period
    let place = start - period + phase
    var sample = ring.sample(place)
    // The last quarter of the period blends into the period's beginning, so that repetitions join without a
    // step.
    let quarter = period / 4
    if phase >= period - quarter {
      let share = Float(phase - (period - quarter) + 1) / Float(quarter + 1)
      sample = sample * (1 - share) + ring.sample(place - period) * share
    }
    return (sample + step * join) * level
  }

  /// The period of the sound before a place: the length after which this sound repeats itself best. 0 if
  /// there is too little sound.
  ///
  /// The search uses about 12,000 samples a second. It compares 60 samples for each of 150 lengths from 2.5
  /// to 15 ms.
  private static func period(of ring: Ring, before place: Int64, sampleRate: UInt32) -> Int64 {
    let stride = max(1, Int64(sampleRate) / 12_000)
    let longest = Int64(sampleRate) * 15 / 1000
    let window = Int64(sampleRate) / 200
    // The sound must be twice as long as the longest period, because the last quarter is blended with the
    // sound one period before it.
    guard place - 2 * longest - window >= ring.floor, place <= ring.end else { return 0 }
    var best = Int64(sampleRate) / 400
    var highest: Float = 0
    var length = best
    while length <= longest {
      let likeness = likeness(ring, place, length, window, stride)
      if likeness > highest {
        highest = likeness
        best = length
      }
      length += stride
    }
    let coarse = best
    for length in max(1, coarse - stride)..<coarse + stride {
      let likeness = likeness(ring, place, length, window, stride)
      if likeness > highest {
        highest = likeness
        best = length
      }
    }
    return best
  }

  /// A measure of how well the sound repeats itself after `length`: the square of the correlation, with the
  /// sign of the correlation.
  private static func likeness(
    _ ring: Ring, _ place: Int64, _ length: Int64, _ window: Int64, _ stride: Int64
  ) -> Float {
    var product: Float = 0
    var power: Float = 1e-9
    var here = place - window
    while here < place {
      let now = ring.sample(here)
      let then = ring.sample(here - length)
      product += (now * then).sum()
      power += (then * then).sum()
      here += stride
    }
    return product * abs(product) / power
  }
}
