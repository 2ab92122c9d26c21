// SPDX-License-Identifier: GPL-2.0-or-later

/// The click of a loop-back test, and how it is found again in a recording, through loudspeakers and noise.
public struct LoopbackClicks: Sendable {
  public struct Return: Equatable, Sendable {
    /// Frames from the click to its return.
    public var delay: Int
    /// How well it was known again: 1 is exactly.
    public var likeness: Double
    /// Of the recording there: 1 is as loud as it can be.
    public var peak: Double
  }

  /// Below it is something else, or noise.
  static let leastLikeness = 0.5
  /// Quieter than -60 dB is no cable and no loudspeaker.
  static let leastPeak = 0.001

  public let signal: [Float]
  /// From click to click; a return is looked for until the next one.
  public let spacing: Int

  public init(sampleRate: Int) {
    spacing = sampleRate / 2
    // 5 ms of noise, softened at the ends: like nothing else, and like itself at one place only.
    let count = max(160, sampleRate / 200)
    var register: UInt32 = 0xACE1
    signal = (0..<count).map { frame in
      let bit = (register ^ (register >> 2) ^ (register >> 3) ^ (register >> 5)) & 1
      register = (register >> 1) | (bit << 15)
      let edge = min(frame + 1, count - frame, count / 8 + 1)
      return (bit == 1 ? 0.5 : -0.5) * Float(edge) / Float(count / 8 + 1)
    }
  }

  /// Whatever is not found is nil. The last click, whose return might be cut off, is left out.
  public func returns(in recording: [Float]) -> [Return?] {
    let starts = stride(from: 0, to: recording.count - spacing - signal.count + 1, by: spacing)
    return starts.map { find(in: recording, from: $0) }
  }

  private func find(in recording: [Float], from start: Int) -> Return? {
    let own = signal.reduce(0) { $0 + $1 * $1 }.squareRoot()
    return recording.withUnsafeBufferPointer { heard in
      signal.withUnsafeBufferPointer { click in
        var energy: Float = 0
        for frame in start..<start + click.count { energy += heard[frame] * heard[frame] }
        var best = (delay: 0, likeness: Float(0))
        for delay in 0..<spacing {
          let from = start + delay
          if energy > Self.leastEnergy {
            var sum: Float = 0
            for frame in 0..<click.count { sum += heard[from + frame] * click[frame] }
            // A cable may turn the polarity around.
            let likeness = abs(sum) / (own * energy.squareRoot())
            if likeness > best.likeness { best = (delay, likeness) }
          }
          let (old, new) = (heard[from], from + click.count < heard.count ? heard[from + click.count] : 0)
          energy = max(0, energy - old * old + new * new)
        }
        let place = start + best.delay
        let peak = heard[place..<place + click.count].reduce(0) { max($0, abs($1)) }
        guard Double(best.likeness) >= Self.leastLikeness, Double(peak) >= Self.leastPeak else { return nil }
        return Return(delay: best.delay, likeness: Double(best.likeness), peak: Double(peak))
      }
    }
  }

  /// Rounding leaves a little where there is silence.
  private static let leastEnergy: Float = 1e-9
}
