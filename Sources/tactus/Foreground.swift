// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// Whether the program runs in the foreground of a terminal that it was given.
///
/// Not with `&`, not after Ctrl-Z and `bg`, not as a service, and no more once the terminal is gone.
enum Foreground {
  static var isOurs: Bool {
    [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO].contains { isOurs($0) }
  }

  /// -1 for what is no terminal, or not that of our session.
  static func isOurs(_ descriptor: Int32) -> Bool { tcgetpgrp(descriptor) == getpgrp() }
}
