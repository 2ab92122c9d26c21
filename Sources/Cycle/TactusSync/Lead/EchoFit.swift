// SPDX-License-Identifier: GPL-2.0-or-later

/// Measures how well received clock messages match a delayed copy of the clock messages that we sent.
extension EchoWatch {
  /// Sums over the clock messages that we sent: of their numbers (`n`), of their times (`s`), of the delays
  /// until we received them (`d`), and of products. For example, `nd` is the sum of number times delay.
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

  /// The results of two fits by straight lines: one line through the times of the sent messages, the other
  /// through the delays.
  struct Fit: BitwiseCopyable {
    /// The microseconds from one sent clock message to the next. `slope` is the number of microseconds by
    /// which the delay grows from one message to the next.
    let spacing: Double
    let slope: Double
    /// The mean delay in microseconds.
    let delay: Double
    /// The variance of `slope`.
    let slopeNoise: Double
    /// The mean square of the delays' distances from their line. `roughness` is half of the mean square of
    /// the differences between successive delays.
    let noise: Double
    let roughness: Double
    /// The measure of how much better a delayed copy of our clock explains the received clock than a steady
    /// clock does: the difference of the two remaining sums of squares.
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
