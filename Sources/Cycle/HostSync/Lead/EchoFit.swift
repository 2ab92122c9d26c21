// SPDX-License-Identifier: GPL-2.0-or-later

/// Measures how well a stretch of received clocks is a delayed copy of the sent ones.
extension EchoWatch {
  /// Sums over sent clocks: their numbers (`n`), their times (`s`), and the delays until they were received
  /// (`d`).
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

  /// The remainder after the even clock through the sent times, and the even change of the delay, are
  /// removed.
  struct Fit: BitwiseCopyable {
    /// Microseconds from clock to clock as sent, and microseconds by which the delay grows from one to the
    /// next.
    let spacing: Double
    let slope: Double
    /// The mean delay.
    let delay: Double
    /// The variance of `slope`.
    let slopeNoise: Double
    /// Mean squares: `noise` of the delays about their line, `roughness` half of their differences from one
    /// to the next.
    let noise: Double
    let roughness: Double
    /// How much better the delayed copy fits the received clocks than a steady clock: the difference of the
    /// remaining squares.
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
