// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// Restores the terminal if a signal kills the program, so that the crash message appears on a working shell
/// and not on the view's screen, which disappears.
///
/// A signal handler may do next to nothing. All that this one needs is in plain memory from the start, and it
/// calls only functions that signal-safety(7) lists. `kill -9` can't be caught; the user then needs `reset`.
enum CrashHandler {
  fileprivate struct Memory {
    /// The terminal whose modes were changed; -1: the modes are as they were found.
    var terminal: Int32 = -1
    var modes = termios()
    /// The bytes by which the terminal leaves the view's screen.
    var farewell: UnsafeMutableBufferPointer<UInt8>
    /// The pipe with messages that are not shown yet, and the real standard error; -1: there is none.
    var waiting: Int32 = -1
    var errors: Int32 = -1
    var chunk: UnsafeMutableRawBufferPointer
  }

  private static let signals = [
    SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, SIGXCPU, SIGXFSZ,
  ]

  /// Installs the handlers, at the first call.
  static func expect(farewell: [UInt8]) {
    guard memory == nil else { return }
    let bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: farewell.count)
    _ = bytes.update(fromContentsOf: farewell)
    let place = UnsafeMutablePointer<Memory>.allocate(capacity: 1)
    place.initialize(to: Memory(farewell: bytes, chunk: .allocate(byteCount: 4096, alignment: 8)))
    memory = place
    for signal in signals {
      var action = sigaction()
      action.__sigaction_handler.sa_handler = tidyUp
      // The kernel resets the handler when it runs. At its end the handler raises the signal again, which
      // then has its usual effect.
      action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND)) | SA_NODEFER
      sigaction(signal, &action, nil)
    }
  }

  /// Notes that the terminal was changed, and the modes to restore.
  static func isChanged(_ terminal: Int32, from modes: termios) {
    memory?.pointee.modes = modes
    memory?.pointee.terminal = terminal
  }

  static func isRestored() { memory?.pointee.terminal = -1 }

  /// Notes the pipe with unread messages, and the standard error to which they belong.
  static func keepsMessages(waiting: Int32, errors: Int32) {
    memory?.pointee.waiting = waiting
    memory?.pointee.errors = errors
  }
}

/// This pointer is written once, before the handlers are installed.
nonisolated(unsafe) private var memory: UnsafeMutablePointer<CrashHandler.Memory>?

private func tidyUp(_ signal: Int32) {
  if let memory, memory.pointee.terminal >= 0 {
    let terminal = memory.pointee.terminal
    memory.pointee.terminal = -1
    write(terminal, memory.pointee.farewell.baseAddress, memory.pointee.farewell.count)
    tcsetattr(terminal, TCSANOW, &memory.pointee.modes)
    let chunk = memory.pointee.chunk
    let count = read(memory.pointee.waiting, chunk.baseAddress, chunk.count)
    if count > 0 { write(memory.pointee.errors, chunk.baseAddress, count) }
  }
  raise(signal)
}
