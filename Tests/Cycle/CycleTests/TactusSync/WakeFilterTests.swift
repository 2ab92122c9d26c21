// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import TactusSync

struct WakeFilterTests {
  /// Most wake-ups are late, and late wake-ups do not move the estimate. A single wake-up that seems early
  /// does not move it either.
  @Test func `a cycle's due time is the lower quartile of the last twelve wake-ups`() {
    var dice = Dice(seed: 5)
    for _ in 0..<200 {
      var filter = WakeFilter()
      var late: [Double] = []
      for cycle in 0..<30 {
        late.append(Double.random(in: 0..<400, using: &dice))
        let frame = Int64(cycle) * 64
        _ = filter.add(
          wake: 5000 + Double(frame) * 20 + late[cycle], frame: frame, frameMicros: 20, cycleMicros: 1280,
          hasStallSign: false)
        let window = late.suffix(12).sorted()
        let due = filter.due(atFrame: frame + 64, frameMicros: 20) - 5000 - Double(frame + 64) * 20
        #expect(abs(due - window[(window.count - 1) / 4]) < 1e-6)
      }
    }
  }
}
