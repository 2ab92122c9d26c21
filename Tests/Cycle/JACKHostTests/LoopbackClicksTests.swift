// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import TactusJACK

@Suite struct LoopbackClicksTests {
  private let clicks = LoopbackClicks(sampleRate: 8000)

  /// A recording of the clicks: delayed, with another level, perhaps inverted, and with noise.
  private func recording(delay: Int, gain: Float, noise: Float, count: Int = 5) -> [Float] {
    var recording = [Float](repeating: 0, count: clicks.spacing * count)
    for click in 0..<count {
      for (frame, value) in clicks.signal.enumerated() {
        let place = click * clicks.spacing + delay + frame
        if place < recording.count { recording[place] += value * gain }
      }
    }
    var state: UInt32 = 12345
    for place in recording.indices {
      state = state &* 1_664_525 &+ 1_013_904_223
      recording[place] += (Float(state >> 8) / Float(1 << 24) - 0.5) * noise
    }
    return recording
  }

  @Test(arguments: [(0, 1.0), (1, 0.5), (237, -0.25), (3900, 0.01)] as [(Int, Float)])
  func `a loopback click is found to the frame, quiet, inverted or in noise`(delay: Int, gain: Float) {
    for noise in [0, abs(gain) * 0.4] as [Float] {
      let returns = clicks.returns(in: recording(delay: delay, gain: gain, noise: noise))
      // The last click's return may be cut off, so it is not searched.
      #expect(returns.count == 4)
      #expect(returns.allSatisfy { $0?.delay == delay }, "\(returns)")
    }
  }

  @Test func `no loopback click is found in silence or noise`() {
    #expect(clicks.returns(in: recording(delay: 10, gain: 0, noise: 0)).allSatisfy { $0 == nil })
    #expect(clicks.returns(in: recording(delay: 10, gain: 0, noise: 0.5)).allSatisfy { $0 == nil })
    #expect(clicks.returns(in: recording(delay: 10, gain: 0.0005, noise: 0)).allSatisfy { $0 == nil })
    #expect(clicks.returns(in: []).isEmpty)
  }

  @Test func `the loopback click correlates with itself at one delay only`() {
    let own = clicks.signal.reduce(0) { $0 + $1 * $1 }
    for shift in 1..<clicks.signal.count {
      let other = zip(clicks.signal.dropFirst(shift), clicks.signal).reduce(Float(0)) { $0 + $1.0 * $1.1 }
      #expect(abs(other) < own / 2, "\(shift)")
    }
  }
}
