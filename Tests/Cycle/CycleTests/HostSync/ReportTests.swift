// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Testing

@testable import HostSync

struct ReportTests {
  @Test func `counters survive a new rate or server, and nothing else does`() {
    var before = Report()
    before.lostCycles = 7
    before.action.follow(LocateAction(SongPlace(frame: 480), from: 0, if: .starting, at: 1))
    before.isHolding = true
    before.isWaiting = true
    before.tempo = 133
    var after = Report()
    after.lostCycles = 2
    after.countOn(from: before.counts)
    #expect(after.lostCycles == 9 && after.action.number == 1 && after.action.condition == .none)
    let rest = before.atRest
    #expect(rest.lostCycles == 7 && !rest.isHolding && !rest.isWaiting && rest.tempo == 133)
    #expect(rest.action.condition == .none)
  }

  /// The counters of a report are its fields of type `UInt64`.
  @Test func `no counter of the report is left out`() {
    let counters = Mirror(reflecting: Report()).children.filter { $0.value is UInt64 }.count
    var counted = 0
    for word in 0..<MemoryLayout<Report>.size / 8 {
      var before = Report()
      withUnsafeMutableBytes(of: &before) { bytes in
        for byte in bytes.indices { bytes[byte] = byte == 8 * word ? 1 : 0 }
      }
      var after = Report()
      withUnsafeMutableBytes(of: &after) { bytes in for byte in bytes.indices { bytes[byte] = 0 } }
      after.countOn(from: before.counts)
      if withUnsafeBytes(of: after, { $0.contains { $0 != 0 } }) { counted += 1 }
    }
    // `Counts` also has the numbers of the two requests.
    #expect(counters > 0 && counted == counters + 2)
  }
}
