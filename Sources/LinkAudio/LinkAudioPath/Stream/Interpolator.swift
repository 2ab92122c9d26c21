// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// Computes the sound of a stream at any place between its samples.
struct Interpolator: BitwiseCopyable {
  let kernel: Kernel
  let reach: Reach
  let isStereo: Bool

  /// The sound at `place + fraction`, where `fraction` is 0...1.
  @inline(__always)
  func value(_ ring: Ring, at place: Int64, _ fraction: Double) -> SIMD2<Float> {
    reach.scale == 1 ? near(ring, place, fraction) : wide(ring, place, fraction)
  }

  @inline(__always)
  private func near(_ ring: Ring, _ place: Int64, _ fraction: Double) -> SIMD2<Float> {
    let phase = fraction * Double(Kernel.phases)
    let row = min(Kernel.phases - 1, max(0, Int(truncatingIfNeeded: Int64(saturating: phase))))
    let share = SIMD8<Float>(repeating: Float(phase - Double(row)))
    let taps = UnsafeRawPointer(kernel.rows + row * Kernel.taps)
    let first = ring.index(place - Int64(Kernel.half) + 1)
    let left = UnsafeRawPointer(ring.left + first)
    let right = UnsafeRawPointer(ring.right + first)
    var leftSum = SIMD8<Float>(repeating: 0)
    var rightSum = SIMD8<Float>(repeating: 0)
    var byte = 0
    while byte < Kernel.taps * 4 {
      let tap = taps.loadUnaligned(fromByteOffset: byte, as: SIMD8<Float>.self)
      let next = taps.loadUnaligned(fromByteOffset: byte + Kernel.taps * 4, as: SIMD8<Float>.self)
      let weight = tap + (next - tap) * share
      leftSum += weight * left.loadUnaligned(fromByteOffset: byte, as: SIMD8<Float>.self)
      if isStereo { rightSum += weight * right.loadUnaligned(fromByteOffset: byte, as: SIMD8<Float>.self) }
      byte += 32
    }
    let sum = leftSum.sum()
    return SIMD2(sum, isStereo ? rightSum.sum() : sum)
  }

  /// The sound at `place + fraction` by a stretched kernel (`Reach`). Its taps can lie at any points of the
  /// kernel's curve.
  @inline(never)
  private func wide(_ ring: Ring, _ place: Int64, _ fraction: Double) -> SIMD2<Float> {
    let first = ring.index(place - Int64(reach.half) + 1)
    let density = reach.scale * Double(Kernel.phases)
    // The sum of this constant and a number has the nearest integer in its last bits. So the number is
    // rounded without a branch.
    let whole = 0x1.8p52
    var sum = SIMD2<Float>(repeating: 0)
    for tap in 0..<2 * reach.half {
      let distance = abs(Double(tap - reach.half + 1) - fraction) * density
      let marked = distance - 0.5 + whole
      let index = Int(truncatingIfNeeded: marked.bitPattern & 0xFFFF)
      let low = kernel.curve[index]
      let weight = low + (kernel.curve[index + 1] - low) * Float(distance - (marked - whole))
      sum += SIMD2(ring.left[first + tap], ring.right[first + tap]) * weight
    }
    return sum * Float(reach.scale)
  }
}
