// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// Text for people: what was asked for on standard output, the rest on standard error. [control]
///
/// Written at once and whole, terminal or not: stdio would keep a line back from a pipe until the end.
enum Console {
  /// False if it could not be written, for instance on a full disk.
  @discardableResult
  static func say(_ text: String) -> Bool { write(text + "\n", to: STDOUT_FILENO) }

  /// A line that begins with the program's name, as the line of a program among others should.
  static func complain(_ text: String) { _ = write("tactus: \(text)\n", to: STDERR_FILENO) }

  private static func write(_ text: String, to descriptor: Int32) -> Bool {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if written > 0 {
        rest = rest.dropFirst(written)
      } else if errno != EINTR {
        return false
      }
    }
    return true
  }
}
