// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// Holds commands back after a stop. JACK remembers only one command: a start that follows a stop between the
/// same two cycles would replace it. So the commands that arrive before the transport has stopped wait.
/// [control]
struct OrdersBehindStop<Order> {
  /// A server that has not stopped by then will never stop.
  static var patience: Micros { Micros(500_000) }
  /// If more commands wait, the oldest are dropped: the last ones decide the result.
  static var most: Int { 64 }

  private var waiting: [Order] = []
  private var until: Micros?

  /// Notes that JACK was asked to stop a moving transport.
  mutating func stopped(at now: Micros) { until = now + Self.patience }

  /// Keeps the command back. Returns false if no stop is pending.
  mutating func hold(_ order: Order) -> Bool {
    guard until != nil else { return false }
    if waiting.count == Self.most { waiting.removeFirst() }
    waiting.append(order)
    return true
  }

  /// Takes the commands that need not wait any more, in their order.
  mutating func take(isMoving: Bool, at now: Micros) -> [Order] {
    guard let until, !isMoving || now >= until else { return [] }
    defer { forget() }
    return waiting
  }

  mutating func forget() { (waiting, until) = ([], nil) }
}
