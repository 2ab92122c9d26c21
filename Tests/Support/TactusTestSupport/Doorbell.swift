// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Synchronization

/// Waits for descriptors without blocking the few threads that all tests share: one thread watches the
/// descriptors of all tests. Polling each descriptor by itself was expensive.
enum Doorbell {
  private struct Visitor {
    let waiting: CheckedContinuation<Void, Never>
    let deadline: ContinuousClock.Instant
  }

  private static let visitors = Mutex<[CInt: Visitor]>([:])
  /// A byte in this pipe announces a new waiting test.
  private static let bell: CInt = {
    var ends: [CInt] = [0, 0]
    precondition(pipe(&ends) == 0)
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let ours = ends[0]
    _ = Worker { watch(ours) }
    return ends[1]
  }()
  /// How late a deadline is noticed at most.
  private static let grain: CInt = 100  // milliseconds

  /// Returns when there is something to read, at the end of the file, or at the deadline. Only one test may
  /// wait for a descriptor.
  static func wait(for descriptor: CInt, until deadline: ContinuousClock.Instant) async {
    let bell = bell
    await withCheckedContinuation { waiting in
      visitors.withLock { $0[descriptor] = Visitor(waiting: waiting, deadline: deadline) }
      var byte: UInt8 = 0
      write(bell, &byte, 1)
    }
  }

  private static func watch(_ bell: CInt) {
    while true {
      let present = visitors.withLock { Array($0) }
      var watched = [pollfd(fd: bell, events: Int16(POLLIN), revents: 0)]
      watched += present.map { pollfd(fd: $0.key, events: Int16(POLLIN), revents: 0) }
      poll(&watched, nfds_t(watched.count), present.isEmpty ? -1 : grain)
      if watched[0].revents != 0 {
        var bytes = [UInt8](repeating: 0, count: 64)
        read(bell, &bytes, bytes.count)
      }
      let now = ContinuousClock.now
      for ((descriptor, visitor), state) in zip(present, watched.dropFirst())
      where state.revents != 0 || now >= visitor.deadline {
        visitors.withLock { _ = $0.removeValue(forKey: descriptor) }
        visitor.waiting.resume()
      }
    }
  }
}
