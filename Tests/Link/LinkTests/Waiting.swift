// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Synchronization

/// Whether `condition` becomes true within a time that no healthy machine needs. Checks every millisecond.
func eventually(within milliseconds: Int = 20_000, _ condition: () -> Bool) -> Bool {
  for _ in 0..<milliseconds {
    if condition() { return true }
    usleep(1_000)
  }
  return condition()
}

/// Waits, so that an event that must not happen would have the time to happen.
func pause(milliseconds: UInt32) {
  usleep(milliseconds * 1_000)
}

/// The values of callbacks, in order.
final class Log<Value: Sendable & Equatable>: Sendable {
  private let values = Mutex<[Value]>([])

  func append(_ value: Value) { values.withLock { $0.append(value) } }
  var all: [Value] { values.withLock { $0 } }
}
