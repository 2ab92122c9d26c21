// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// What the terminal's owner has said about it.
enum Environment {
  /// nil: not set, or empty.
  static func text(_ name: String) -> String? {
    guard let value = getenv(name), value.pointee != 0 else { return nil }
    return String(cString: value)
  }

  /// The locale's characters; the first of these that is set decides.
  static var isUTF8: Bool {
    let locale = text("LC_ALL") ?? text("LC_CTYPE") ?? text("LANG") ?? ""
    let name = locale.lowercased()
    return name.contains("utf-8") || name.contains("utf8")
  }
}
