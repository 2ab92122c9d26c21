// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import Testing

@testable import TactusJACK

@Suite struct ListenersTests {
  private var listeners = Listeners()

  /// Looks at the port at each of these times, in milliseconds. `areThere`: whether the port has a
  /// connection.
  private mutating func look(_ areThere: Bool, at times: Int64...) -> [Bool] {
    times.map { listeners.haveCome(areThere: areThere, at: Micros($0 * 1000)) }
  }

  @Test mutating func `a port's new connection is counted once, after a tenth of a second`() {
    let nobody = look(false, at: 0, 20)
    let come = look(true, at: 40, 60, 139, 140, 160, 10_000)
    #expect(!nobody.contains(true))
    #expect(come == [false, false, false, true, false, false])
    #expect(listeners.count == 1)
  }

  @Test mutating func `a port's connection that is cut and made again counts again`() {
    _ = look(true, at: 0, 100)
    _ = look(false, at: 120)
    let again = look(true, at: 140, 240, 260)
    #expect(again == [false, true, false] && listeners.count == 2)
  }

  @Test mutating func `a port's connection cut within a tenth of a second does not count`() {
    for start in stride(from: Int64(0), to: 1000, by: 100) {
      let come = look(true, at: start, start + 80)
      _ = look(false, at: start + 90)
      #expect(come == [false, false])
    }
    #expect(listeners.count == 0)
  }

  @Test mutating func `a port's new connection counts even if we look at the port late`() {
    let come = look(true, at: 0, 5000, 5020)
    #expect(come == [false, true, false])
  }
}
