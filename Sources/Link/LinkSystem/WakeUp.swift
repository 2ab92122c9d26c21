// SPDX-License-Identifier: GPL-2.0-or-later
package import Glibc
package import LinkBeatMath
import Synchronization

/// A failed system call and its `errno`.
package struct SystemFailure: Error, CustomStringConvertible {
  package var call: StaticString
  package var code: Int32

  package init(call: StaticString, code: Int32) {
    self.call = call
    self.code = code
  }

  package var description: String { "\(call): \(String(cString: strerror(code)))" }
}

/// Waits until one of the watched descriptors is ready or `deadline` has come; nil: there is no deadline. The
/// wait is rounded up to whole milliseconds, because a thread that wakes just before the deadline would have
/// to wait again.
package func wait(for watched: inout [pollfd], from now: Micros, until deadline: Micros?) {
  let milliseconds = deadline.map { Int32(clamping: max(0, ($0 - now).count + 999) / 1000) } ?? -1
  poll(&watched, nfds_t(watched.count), milliseconds)
}

/// A pair of connected sockets, by which any thread can wake one waiting thread.
package final class WakeUp: Sendable {
  private let reading = Atomic<Int32>(-1)
  private let writing = Atomic<Int32>(-1)

  package init() {}

  /// The descriptor to poll; -1 before `open`.
  package var descriptor: Int32 { reading.load(ordering: .relaxed) }

  /// Opens the two sockets. Signals before this call have no effect. Only one thread at a time may call this
  /// function.
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

  /// Wakes the thread, even if the socket's buffer is full. [any thread but the audio thread]
  package func signal() {
    var byte: UInt8 = 1
    send(writing.load(ordering: .relaxed), &byte, 1, Int32(MSG_NOSIGNAL))
  }

  package func drain() {
    var bytes = (0 as UInt64, 0 as UInt64, 0 as UInt64, 0 as UInt64)
    while read(descriptor, &bytes, MemoryLayout.size(ofValue: bytes)) > 0 {}
  }
}
