// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import Testing

@testable import Link

/// Tests the decision when to close a gateway whose address is missing. These tests need only values, no
/// sockets.
struct AbsenceTests {
  let radio = LocalAddress(address: .v4(0x0a32_0001), interface: 3)
  let wire = LocalAddress(address: .v4(0xc0a8_0702), interface: 2)
  let loopback = LocalAddress(address: .loopback, interface: 1)

  func seconds(_ number: Double) -> Micros { Micros(Int64(number * 1e6)) }

  @Test func `an address that returns within six seconds keeps its gateway`() {
    for gone in stride(from: 0.05, to: 6, by: 0.05) {
      var absences = Absences()
      let (begin, open) = (seconds(100), [loopback, radio])
      #expect(absences.learn(found: open, open: open, limit: 32, at: begin).isEmpty)
      // There is a scan every 0.05 s, as if the kernel announced many changes.
      for moment in stride(from: 0, through: gone, by: 0.05) {
        let now = begin + seconds(moment)
        #expect(absences.learn(found: [loopback], open: open, limit: 32, at: now).isEmpty, "\(gone)")
        #expect(absences.nextEnd == begin + seconds(6))
      }
      #expect(absences.learn(found: open, open: open, limit: 32, at: begin + seconds(gone)).isEmpty)
      #expect(absences.nextEnd == nil && !absences.contains(radio))
    }
  }

  @Test func `an address that is missing for six seconds loses its gateway`() {
    var absences = Absences()
    let open = [loopback, radio, wire]
    #expect(absences.learn(found: [loopback, wire], open: open, limit: 32, at: seconds(10)).isEmpty)
    #expect(absences.learn(found: [loopback], open: open, limit: 32, at: seconds(12)).isEmpty)
    #expect(absences.learn(found: [loopback], open: open, limit: 32, at: seconds(15.999)).isEmpty)
    #expect(absences.learn(found: [loopback], open: open, limit: 32, at: seconds(16)) == [radio])
    #expect(absences.nextEnd == seconds(18))
    let left = [loopback, wire]
    #expect(absences.learn(found: [loopback], open: left, limit: 32, at: seconds(18)) == [wire])
    #expect(absences.nextEnd == nil)
  }

  @Test func `each absence of an address counts from its own start`() {
    var absences = Absences()
    let open = [loopback, radio]
    for round in 0..<20 {
      let begin = seconds(Double(round) * 6)
      #expect(absences.learn(found: [loopback], open: open, limit: 32, at: begin).isEmpty)
      #expect(absences.learn(found: [loopback], open: open, limit: 32, at: begin + seconds(5.9)).isEmpty)
      #expect(absences.learn(found: open, open: open, limit: 32, at: begin + seconds(5.95)).isEmpty)
    }
  }

  @Test func `new addresses replace the address that is missing for longest`() {
    var absences = Absences()
    let old = (0..<4).map { LocalAddress(address: .v4(0x0a00_0000 + UInt32($0)), interface: 2) }
    let new = (0..<4).map { LocalAddress(address: .v4(0x0b00_0000 + UInt32($0)), interface: 3) }
    _ = absences.learn(found: old[..<3], open: old, limit: 4, at: seconds(1))
    _ = absences.learn(found: old[..<2], open: old, limit: 4, at: seconds(2))
    #expect(absences.learn(found: old[..<2] + new[..<1], open: old, limit: 4, at: seconds(3)) == [old[3]])
    let open = Array(old[..<3] + new[..<1])
    #expect(
      absences.learn(found: new, open: open, limit: 4, at: seconds(4)) == Set(old[..<3]),
      "never more than there may be")
  }
}
