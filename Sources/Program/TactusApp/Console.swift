// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Synchronization
import TactusJSON5

/// Text for people: answers go to standard output, complaints to standard error. [control]
///
/// Each line is written whole and at once, to a terminal or not: with a pipe, stdio would keep a line back
/// until the end. While the terminal view is on the screen, the lines go to the view instead.
enum Console {
  /// Takes a line, and whether the line is a complaint, which the user should act on.
  typealias Listener = @Sendable (String, Bool) -> Void

  /// Sends all lines to `listener`. nil: standard output and standard error get the lines again. [any]
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
    /// The number of lines dropped since the last line that was written.
    var lost = 0
  }

  private static let stage = Mutex(Stage())

  /// From now on, never waits for a reader, because music must not wait for a pager. If a pipe is full or a
  /// terminal is held (Ctrl-S), lines are dropped and counted. [control]
  static func neverWait() { stage.withLock { $0.isOpen = true } }

  /// From now on, writes each line as JSON, for a program that reads it. [control]
  static func speakJSON() { stage.withLock { $0.speaksJSON = true } }

  /// Returns false if the text could not be written, for instance on a full disk.
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
      let news = stage.lost == 0 ? "" : line("the reader was too slow: \(stage.lost) lines are missing")
      stage.lost = 0
      return write(news + line(text), to: STDOUT_FILENO)
    }
  }

  /// Prints the answer of a command that then ends, and returns the exit status.
  static func answer(_ text: String) -> Tactus.Status { say(text) ? .success : .failure }

  /// Whether a write would not block: a pipe has room for a page, a terminal is not held (Ctrl-S).
  private static func isReady(_ descriptor: Int32) -> Bool {
    var watched = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return poll(&watched, 1, 0) != 0
  }

  /// Writes a line that begins with the program's name, which tells the line apart from those of other
  /// programs.
  static func complain(_ text: String) {
    if isDiverted(text, isComplaint: true) { return }
    if stage.withLock({ $0.isOpen }), !isReady(STDERR_FILENO) { return }
    _ = write("tactus: \(text)\n", to: STDERR_FILENO)
  }

  /// Whether an answer could not be written to standard output.
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
        // EPIPE: the reader has gone on purpose, which needs no complaint.
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
