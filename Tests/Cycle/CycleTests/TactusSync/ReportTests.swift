// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import Testing

@testable import TactusSync

struct ReportTests {
  @Test func `a report's counters survive a new rate or server, nothing else does`() {
    var before = Report()
    before.times.lostCycles = 7
    before.launch.action.follow(LocateAction(SongPlace(frame: 480), from: 0, if: .starting, at: 1))
    before.launch.isHolding = true
    before.song.isWaiting = true
    before.tempo = 133
    var after = Report()
    after.times.lostCycles = 2
    after.countOn(from: before.counts)
    #expect(
      after.times.lostCycles == 9 && after.launch.action.number == 1 && after.launch.action.condition == .none
    )
    let rest = before.atRest
    #expect(rest.times.lostCycles == 7 && !rest.launch.isHolding && !rest.song.isWaiting && rest.tempo == 133)
    #expect(rest.launch.action.condition == .none)
  }

  private static func counters(of part: Any) -> Int {
    // The session's id is no counter.
    Mirror(reflecting: part).children.filter { $0.label != "session" }
      .reduce(0) { $1.value is UInt64 ? $0 + 1 : $0 + counters(of: $1.value) }
  }

  /// The counters of a report are the fields of type `UInt64` in its parts.
  @Test func `a new server keeps every counter of the report`() {
    let counters = Self.counters(of: Report())
    var counted = 0
    for word in 0..<MemoryLayout<Report>.size / 4 {
      var before = Report()
      withUnsafeMutableBytes(of: &before) { bytes in
        for byte in bytes.indices { bytes[byte] = byte == 4 * word ? 1 : 0 }
      }
      var after = Report()
      withUnsafeMutableBytes(of: &after) { bytes in for byte in bytes.indices { bytes[byte] = 0 } }
      after.countOn(from: before.counts)
      if withUnsafeBytes(of: after, { $0.contains { $0 != 0 } }) { counted += 1 }
    }
    // A counter has two words of four bytes. `Counts` also has the numbers of the two requests, of one word.
    #expect(counters > 0 && counted == 2 * counters + 2)
  }
}
