// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// Catches the text that libraries write on standard error while the view is on the screen. The text would
/// damage the picture, so the view shows it as a line. No writer waits: if there is no room, text is lost.
final class StderrCapture {
  /// The end of the pipe from which the caught text is read.
  private(set) var descriptor: Int32 = -1
  private var errors: Int32 = -1

  /// Starts to catch text, if standard error is a terminal.
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
    CrashHandler.keepsMessages(waiting: descriptor, errors: errors)
  }

  /// Stops catching text, and writes unread text to the real standard error.
  func restore() {
    guard descriptor >= 0 else { return }
    dup2(errors, STDERR_FILENO)
    while let text = drain() { _ = text.withCString { write(errors, $0, strlen($0)) } }
    CrashHandler.keepsMessages(waiting: -1, errors: -1)
    close(descriptor)
    close(errors)
    (descriptor, errors) = (-1, -1)
  }

  /// The text that has arrived; nil: no text has arrived.
  func drain() -> String? {
    guard descriptor >= 0 else { return nil }
    var chunk = [UInt8](repeating: 0, count: 4096)
    let count = read(descriptor, &chunk, chunk.count)
    return count > 0 ? String(decoding: chunk[..<count], as: UTF8.self) : nil
  }
}
