// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTerminal

/// The terminal: its modes, its size, its input and its output.
///
/// The device opens the terminal a second time: the shell shares our standard input and output, and must not
/// get the non-blocking mode that is set here. The device is not thread-safe: one thread uses it.
final class TerminalDevice {
  enum Input {
    case bytes(ArraySlice<UInt8>)
    case nothing
    /// The terminal was closed, or its line was cut.
    case gone
  }

  /// Switches to the alternate screen, hides the cursor, turns line wrapping off, and makes the terminal mark
  /// pasted text.
  private static let enter = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[?2004h"
  private static let leave = "\u{1B}[0m\u{1B}[?2004l\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"
  /// How long the device waits for a terminal that accepts no output before it leaves the terminal.
  private static let timeoutMillis: Int32 = 100

  let descriptor: Int32
  private(set) var isEntered = false
  private var before: termios?
  private var buffer = [UInt8](repeating: 0, count: 1024)
  private var pending: ArraySlice<UInt8> = []

  /// Opens the terminal; nil: standard output is no terminal, or the terminal can't be opened.
  init?() {
    guard isatty(STDOUT_FILENO) == 1, let name = ttyname(STDOUT_FILENO) else { return nil }
    descriptor = open(name, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    CrashHandler.expect(farewell: Array(Self.leave.utf8))
  }

  deinit {
    leaveScreen()
    close(descriptor)
  }

  /// Whether the program is in the terminal's foreground.
  var isOurs: Bool { Foreground.isOurs(descriptor) }

  var size: Size {
    var size = winsize()
    // A serial line does not know the size of the terminal at its other end: assume 80 by 24.
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
      return Size(columns: 80, rows: 24)
    }
    return Size(columns: Int(size.ws_col), rows: Int(size.ws_row))
  }

  /// Enters the view's screen and modes. Ctrl-C and Ctrl-Z still send signals.
  func enterScreen() {
    var found = termios()
    guard !isEntered, tcgetattr(descriptor, &found) == 0 else { return }
    // After SIGSTOP the shell may restore the modes that the view had set. Keep the modes that were found
    // first, because the shell gets these at the end.
    if before == nil || found.c_lflag & UInt32(ICANON) != 0 { before = found }
    guard let before else { return }
    CrashHandler.isChanged(descriptor, from: before)
    var modes = before
    modes.c_lflag &= ~UInt32(ICANON | ECHO | IEXTEN)
    modes.c_iflag &= ~UInt32(IXON | ICRNL | INLCR | ISTRIP)
    withUnsafeMutableBytes(of: &modes.c_cc) {
      $0[Int(VMIN)] = 1
      $0[Int(VTIME)] = 0
    }
    tcsetattr(descriptor, TCSANOW, &modes)
    isEntered = true
    pending = Self.enter.utf8.map { $0 }[...]
    flush()
  }

  func leaveScreen() {
    guard isEntered else { return }
    isEntered = false
    // If only a part of an escape sequence was written, the first escape character of `leave` ends
    // it.
    pending = Self.leave.utf8.map { $0 }[...]
    flush()
    if !pending.isEmpty {
      var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      poll(&wait, 1, Self.timeoutMillis)
      flush()
      pending = []
    }
    // Drop unread keys: the user did not type them for the shell.
    tcflush(descriptor, TCIFLUSH)
    if var before { tcsetattr(descriptor, TCSANOW, &before) }
    CrashHandler.isRestored()
  }

  /// Call this when another program has the terminal: from then on, writes nothing and leaves the modes
  /// alone.
  func yield() {
    isEntered = false
    pending = []
    CrashHandler.isRestored()
  }

  /// Whether the terminal has taken all bytes of the last `write`.
  var isReady: Bool { pending.isEmpty }

  /// Call it only if `isReady`.
  func write(_ bytes: [UInt8]) {
    pending = bytes[...]
    flush()
  }

  func flush() {
    while !pending.isEmpty {
      let count = pending.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 else { return }
      pending = pending.dropFirst(count)
    }
  }

  func read() -> Input {
    let count = Glibc.read(descriptor, &buffer, buffer.count)
    if count > 0 { return .bytes(buffer[..<count]) }
    // In the background a read fails, too, although the terminal is still there.
    return count < 0 && (errno == EAGAIN || errno == EINTR || isatty(descriptor) == 1) ? .nothing : .gone
  }
}
