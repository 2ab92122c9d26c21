// SPDX-License-Identifier: GPL-2.0-or-later
package import BeatMath
package import Glibc
import Synchronization

/// What the system refused: the call that failed and its `errno`.
package struct SystemFailure: Error, CustomStringConvertible {
  package var call: StaticString
  package var code: Int32

  package init(call: StaticString, code: Int32) {
    self.call = call
    self.code = code
  }

  package var description: String { "\(call): \(String(cString: strerror(code)))" }
}

/// Waits until one of these has something to say, but not beyond `deadline`; nil: for ever. Whole milliseconds, rounded up: a
/// deadline that is not quite there would only cost another turn.
package func wait(for watched: inout [pollfd], from now: Micros, until deadline: Micros?) {
  let milliseconds = deadline.map { Int32(clamping: max(0, ($0 - now).count + 999) / 1000) } ?? -1
  poll(&watched, nfds_t(watched.count), milliseconds)
}

/// A line to oneself: what one thread writes wakes the other from its wait.
package final class WakeUp: Sendable {
  private let reading = Atomic<Int32>(-1)
  private let writing = Atomic<Int32>(-1)

  package init() {}

  /// To be waited on; -1 until it is open.
  package var descriptor: Int32 { reading.load(ordering: .relaxed) }

  /// Until then nobody is woken. Only one thread at a time may call it.
  package func open() throws(SystemFailure) {
    guard descriptor < 0 else { return }
    var ends: [Int32] = [-1, -1]
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
      throw SystemFailure(call: "socketpair", code: errno)
    }
    reading.store(ends[0], ordering: .relaxed)
    writing.store(ends[1], ordering: .relaxed)
  }

  deinit {
    for end in [descriptor, writing.load(ordering: .relaxed)] where end >= 0 { close(end) }
  }

  /// A full line will wake the thread as well. [any but audio]
  package func signal() {
    var byte: UInt8 = 1
    send(writing.load(ordering: .relaxed), &byte, 1, Int32(MSG_NOSIGNAL))
  }

  package func drain() {
    var bytes = (0 as UInt64, 0 as UInt64, 0 as UInt64, 0 as UInt64)
    while read(descriptor, &bytes, MemoryLayout.size(ofValue: bytes)) > 0 {}
  }
}
