// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import JSON5
import Synchronization

/// Text for people: what was asked for on standard output, the rest on standard error. [control]
///
/// Written at once and whole, terminal or not: stdio would keep a line back from a pipe until the end. While the
/// terminal view is on the screen, the lines are its news instead.
enum Console {
  /// The second argument: somebody has to do something about it.
  typealias Listener = @Sendable (String, Bool) -> Void

  /// nil: written again. [any]
  static func divert(_ listener: Listener?) { Self.listener.withLock { $0 = listener } }
  private static let listener = Mutex<Listener?>(nil)

  private static func isDiverted(_ text: String, isComplaint: Bool) -> Bool {
    listener.withLock { listener in
      listener?(text, isComplaint)
      return listener != nil
    }
  }

  private struct Stage {
    var isOpen = false
    var speaksJSON = false
    /// Lines that nobody took.
    var lost = 0
  }

  private static let stage = Mutex(Stage())

  /// From now on nobody waits for a reader: where a pipe is full or a terminal is held (Ctrl-S), lines are left out and
  /// counted. Music must not wait for a pager. [control]
  static func neverWait() { stage.withLock { $0.isOpen = true } }

  /// What is said from now on is a line of JSON each, for a program that reads it. [control]
  static func speakJSON() { stage.withLock { $0.speaksJSON = true } }

  /// False if it could not be written, for instance on a full disk.
  @discardableResult
  static func say(_ text: String) -> Bool {
    if isDiverted(text, isComplaint: false) { return true }
    return stage.withLock { stage in
      func line(_ text: String) -> String {
        (stage.speaksJSON ? JSON5.fields(["message": .string(text)]).text : text) + "\n"
      }
      guard stage.isOpen else { return write(line(text), to: STDOUT_FILENO) }
      guard isReady(STDOUT_FILENO) else {
        stage.lost += 1
        return true
      }
      let news = stage.lost == 0 ? "" : line("nobody read here: \(stage.lost) lines are missing")
      stage.lost = 0
      return write(news + line(text), to: STDOUT_FILENO)
    }
  }

  /// What a program was asked for, and how it ends with that.
  static func answer(_ text: String) -> Tactus.Status { say(text) ? .success : .failure }

  /// A pipe is while it has room for a page, a terminal while it goes on.
  private static func isReady(_ descriptor: Int32) -> Bool {
    var watched = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return poll(&watched, 1, 0) != 0
  }

  /// A line that begins with the program's name, as the line of a program among others should.
  static func complain(_ text: String) {
    if isDiverted(text, isComplaint: true) { return }
    if stage.withLock({ $0.isOpen }), !isReady(STDERR_FILENO) { return }
    _ = write("tactus: \(text)\n", to: STDERR_FILENO)
  }

  /// Something that was asked for did not arrive.
  static var hasFailed: Bool { failed.load(ordering: .relaxed) }
  private static let failed = Atomic(false)

  private static func write(_ text: String, to descriptor: Int32) -> Bool {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if written > 0 {
        rest = rest.dropFirst(written)
      } else if errno != EINTR {
        let code = errno
        // Who no longer reads knows it.
        if descriptor == STDOUT_FILENO, !failed.exchange(true, ordering: .relaxed), code != EPIPE {
          _ = write(
            "tactus: can't write to standard output: \(String(cString: strerror(code)))\n", to: STDERR_FILENO)
        }
        return false
      }
    }
    return true
  }
}
