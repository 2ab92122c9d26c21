// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Testing

@testable import JACKHost

@Suite struct OrdersBehindStopTests {
  private var orders = OrdersBehindStop<String>()

  /// The orders that need not wait.
  private mutating func hold(_ words: String...) -> [String] { words.filter { !orders.hold($0) } }

  private mutating func take(isMoving: Bool = false, at micros: Int64) -> [String] {
    orders.take(isMoving: isMoving, at: Micros(micros))
  }

  @Test mutating func `orders do not wait if nothing was stopped`() {
    let free = hold("locate")
    let taken = take(at: 1)
    #expect(free == ["locate"] && taken.isEmpty)
  }

  @Test mutating func `orders after a stop wait until the transport stands, in order`() {
    orders.stopped(at: .zero)
    let free = hold("locate", "start")
    let early = take(isMoving: true, at: 20_000)
    let taken = take(at: 40_000)
    let again = take(at: 60_000)
    let later = hold("stop")
    #expect(free.isEmpty && early.isEmpty && taken == ["locate", "start"])
    #expect(again.isEmpty && later == ["stop"])
  }

  @Test mutating func `a stop among the waiting orders holds back the rest`() {
    orders.stopped(at: .zero)
    _ = hold("start", "stop", "locate")
    var done: [String] = []
    for order in take(at: 10_000) where !orders.hold(order) {
      done.append(order)
      if order == "stop" { orders.stopped(at: Micros(10_000)) }
    }
    let early = take(isMoving: true, at: 11_000)
    let taken = take(at: 12_000)
    #expect(done == ["start", "stop"] && early.isEmpty && taken == ["locate"])
  }

  @Test mutating func `a transport that does not stop delays orders by half a second`() {
    orders.stopped(at: .zero)
    _ = hold("start")
    let early = take(isMoving: true, at: 499_999)
    let taken = take(isMoving: true, at: 500_000)
    #expect(early.isEmpty && taken == ["start"])
  }

  @Test mutating func `if too many orders wait, the last ones are kept`() {
    orders.stopped(at: .zero)
    for number in 0..<100_000 { _ = hold("\(number)") }
    let taken = take(at: 1)
    let last: [String] = (99_936..<100_000).map { "\($0)" }
    #expect(taken == last)
  }

  @Test mutating func `orders for a server that has gone are dropped`() {
    orders.stopped(at: .zero)
    _ = hold("start")
    orders.forget()
    let taken = take(at: 1)
    let free = hold("locate")
    #expect(taken.isEmpty && free == ["locate"])
  }
}
