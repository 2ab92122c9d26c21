// SPDX-License-Identifier: GPL-2.0-or-later

/// How well a stretch of what came in is what was sent, some time later.
extension EchoWatch {
  /// Of the numbers of what was sent, its times and the delays.
  struct Sums: BitwiseCopyable {
    var count = 0.0
    var n = 0.0, nn = 0.0, s = 0.0, ns = 0.0, ss = 0.0, d = 0.0, nd = 0.0, dd = 0.0, sd = 0.0
    var roughness = 0.0

    mutating func add(_ number: Double, _ time: Double, _ delay: Double) {
      count += 1
      n += number
      nn += number * number
      s += time
      ns += number * time
      ss += time * time
      d += delay
      nd += number * delay
      dd += delay * delay
      sd += time * delay
    }
  }

  /// What is left when the even clock through what was sent, and the even change of the delay, are taken away.
  struct Fit: BitwiseCopyable {
    /// Microseconds from clock to clock as sent, and what the delay grows by in one.
    let spacing: Double
    let slope: Double
    /// The delay, in the mean.
    let delay: Double
    /// What the slope may be by chance, squared.
    let slopeNoise: Double
    /// Squared, in the mean: the delays about their line, and half of what they differ from each other.
    let noise: Double
    let roughness: Double
    /// How much better the copy fits what came in than a clock that goes straight on: the squares that are left then.
    let advantage: Double

    init?(_ sums: Sums) {
      let count = sums.count
      let nn = sums.nn - sums.n * sums.n / count
      guard nn > 0 else { return nil }
      let ns = sums.ns - sums.n * sums.s / count
      let nd = sums.nd - sums.n * sums.d / count
      spacing = ns / nn
      slope = nd / nn
      delay = sums.d / count
      let ss = sums.ss - sums.s * sums.s / count - ns * spacing
      let dd = sums.dd - sums.d * sums.d / count - nd * slope
      let sd = sums.sd - sums.s * sums.d / count - ns * slope
      noise = dd / count
      slopeNoise = noise / nn
      roughness = sums.roughness / (2 * max(1, count - 1))
      advantage = ss + 2 * sd
    }
  }
}
