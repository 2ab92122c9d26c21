// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// What libraries write on standard error while the view is on: it would tear the picture, so it is led round it and
/// becomes news. Never waited for: what has no room is lost.
final class StrayErrors {
  /// Lines wait here.
  private(set) var descriptor: Int32 = -1
  private var errors: Int32 = -1

  /// Only if it would appear on the terminal at all.
  func divert() {
    var ends: [Int32] = [-1, -1]
    guard descriptor < 0, isatty(STDERR_FILENO) == 1, pipe(&ends) == 0 else { return }
    errors = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
    guard errors >= 0 else {
      close(ends[0])
      close(ends[1])
      return
    }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    dup2(ends[1], STDERR_FILENO)
    close(ends[1])
    descriptor = ends[0]
    Wreckage.keepsMessages(waiting: descriptor, errors: errors)
  }

  /// Back, with what nobody has read.
  func restore() {
    guard descriptor >= 0 else { return }
    dup2(errors, STDERR_FILENO)
    while let text = take() { _ = text.withCString { write(errors, $0, strlen($0)) } }
    Wreckage.keepsMessages(waiting: -1, errors: -1)
    close(descriptor)
    close(errors)
    (descriptor, errors) = (-1, -1)
  }

  /// What has come; nil for nothing.
  func take() -> String? {
    guard descriptor >= 0 else { return nil }
    var chunk = [UInt8](repeating: 0, count: 4096)
    let count = read(descriptor, &chunk, chunk.count)
    return count > 0 ? String(decoding: chunk[..<count], as: UTF8.self) : nil
  }
}
