// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// Puts the terminal back in order if the program dies of a signal, so that a crash leaves its message on a shell
/// that works, and not on a screen that is gone.
///
/// A handler may do next to nothing: all that it needs lies in plain memory that is there from the start, and it
/// calls only what signal-safety(7) lists. What can't be caught (`kill -9`) is left to `reset`.
enum Wreckage {
  fileprivate struct Memory {
    /// -1: the terminal is as it was found.
    var terminal: Int32 = -1
    var modes = termios()
    /// What makes the terminal leave the view.
    var farewell: UnsafeMutableBufferPointer<UInt8>
    /// Where messages on standard error wait to be shown, and the standard error of before; -1 for none.
    var waiting: Int32 = -1
    var errors: Int32 = -1
    var chunk: UnsafeMutableRawBufferPointer
  }

  private static let signals = [
    SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, SIGXCPU, SIGXFSZ,
  ]

  /// From now on. Once is enough.
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
      // Once, and again by itself at its end: then the signal does what it would have done.
      action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND)) | SA_NODEFER
      sigaction(signal, &action, nil)
    }
  }

  /// The terminal is changed now; these were its modes.
  static func isChanged(_ terminal: Int32, from modes: termios) {
    memory?.pointee.modes = modes
    memory?.pointee.terminal = terminal
  }

  static func isRestored() { memory?.pointee.terminal = -1 }

  /// Messages wait in the one, and belong to the other.
  static func keepsMessages(waiting: Int32, errors: Int32) {
    memory?.pointee.waiting = waiting
    memory?.pointee.errors = errors
  }
}

/// Written before the handlers are installed, never again.
nonisolated(unsafe) private var memory: UnsafeMutablePointer<Wreckage.Memory>?

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
