// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Synchronization

/// Whether `condition` comes true before a wait that no healthy machine needs. Looks every millisecond.
func eventually(within milliseconds: Int = 20_000, _ condition: () -> Bool) -> Bool {
  for _ in 0..<milliseconds {
    if condition() { return true }
    usleep(1_000)
  }
  return condition()
}

/// Waits for something that should not happen to have had its chance.
func pause(milliseconds: UInt32) {
  usleep(milliseconds * 1_000)
}

/// What callbacks said, in their order.
final class Log<Value: Sendable & Equatable>: Sendable {
  private let values = Mutex<[Value]>([])

  func append(_ value: Value) { values.withLock { $0.append(value) } }
  var all: [Value] { values.withLock { $0 } }
}
