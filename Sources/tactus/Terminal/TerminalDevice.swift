// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TerminalView

/// The terminal: its modes, its size, the bytes that go there and come from there.
///
/// It has a door of its own to it: what is set there (that nothing waits) does not concern the shell, which shares
/// standard input and output with us. Not thread-safe: one thread uses it.
final class TerminalDevice {
  enum Input {
    case bytes(ArraySlice<UInt8>)
    case nothing
    /// It was closed, or the line was cut.
    case gone
  }

  /// The other screen, no cursor, no wrapping at the edge, and pasted text marked as such.
  private static let enter = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[?2004h"
  private static let leave = "\u{1B}[0m\u{1B}[?2004l\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"
  /// So long a terminal that does not take anything is waited for before it is left.
  private static let patienceMillis: Int32 = 100

  let descriptor: Int32
  private(set) var isEntered = false
  private var before: termios?
  private var buffer = [UInt8](repeating: 0, count: 1024)
  private var pending: ArraySlice<UInt8> = []

  /// nil: standard output is no terminal, or one that can't be talked to.
  init?() {
    guard isatty(STDOUT_FILENO) == 1, let name = ttyname(STDOUT_FILENO) else { return nil }
    descriptor = open(name, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    Wreckage.expect(farewell: Array(Self.leave.utf8))
  }

  deinit {
    leaveScreen()
    close(descriptor)
  }

  /// Whether what we write there is what the user sees.
  var isOurs: Bool { Foreground.isOurs(descriptor) }

  var size: Size {
    var size = winsize()
    // A serial line does not know how large the glass is at its other end.
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
      return Size(columns: 80, rows: 24)
    }
    return Size(columns: Int(size.ws_col), rows: Int(size.ws_row))
  }

  /// Ctrl-C and Ctrl-Z stay signals.
  func enterScreen() {
    var found = termios()
    guard !isEntered, tcgetattr(descriptor, &found) == 0 else { return }
    // After a stop by force the shell hands us our own modes again; those of before are what it wants in the end.
    if before == nil || found.c_lflag & UInt32(ICANON) != 0 { before = found }
    guard let before else { return }
    Wreckage.isChanged(descriptor, from: before)
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
    // What was half written is cut off by the escape that comes next.
    pending = Self.leave.utf8.map { $0 }[...]
    flush()
    if !pending.isEmpty {
      var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      poll(&wait, 1, Self.patienceMillis)
      flush()
      pending = []
    }
    // Keys that nobody read are not for the shell.
    tcflush(descriptor, TCIFLUSH)
    if var before { tcsetattr(descriptor, TCSANOW, &before) }
    Wreckage.isRestored()
  }

  /// Somebody else has the terminal: nothing more is written there, and its modes are theirs.
  func yield() {
    isEntered = false
    pending = []
    Wreckage.isRestored()
  }

  /// Nothing that was written before waits any more.
  var isReady: Bool { pending.isEmpty }

  /// Only when ready.
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
    // In the background reading is an error, too.
    return count < 0 && (errno == EAGAIN || errno == EINTR || isatty(descriptor) == 1) ? .nothing : .gone
  }
}
