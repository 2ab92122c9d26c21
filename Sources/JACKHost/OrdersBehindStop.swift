// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// JACK remembers one order: of a stop and a start between two of its cycles there would be only the start. So what comes while it has
/// yet to stop waits for that. [control]
struct OrdersBehindStop<Order> {
  /// A server that has not stopped by then will not.
  static var patience: Micros { Micros(500_000) }
  /// Of more the last count: they say where it ends.
  static var most: Int { 64 }

  private var waiting: [Order] = []
  private var until: Micros?

  /// JACK was asked to stop what moves.
  mutating func stopped(at now: Micros) { until = now + Self.patience }

  /// False: there is nothing to wait for.
  mutating func hold(_ order: Order) -> Bool {
    guard until != nil else { return false }
    if waiting.count == Self.most { waiting.removeFirst() }
    waiting.append(order)
    return true
  }

  /// Those whose time has come, in their order.
  mutating func take(isMoving: Bool, at now: Micros) -> [Order] {
    guard let until, !isMoving || now >= until else { return [] }
    defer { forget() }
    return waiting
  }

  mutating func forget() { (waiting, until) = ([], nil) }
}
