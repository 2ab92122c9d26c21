// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// Where the two files of the user are: what was chosen by hand, and what tactus remembers.
///
/// By the XDG base directory rules; a session of its own brings a folder for both.
struct Places: Equatable, Sendable {
  /// nil: there is nowhere to look.
  var configuration: String?
  /// nil: nothing is remembered.
  var state: String?
  /// The administrator's, read where the user has none.
  var defaults: [String] = []

  init(configuration: String?, state: String?) {
    self.configuration = configuration
    self.state = state
  }

  init(folder: String) {
    self.init(configuration: folder + "/config.json5", state: folder + "/state.json5")
  }

  /// A variable that is empty or no absolute path counts as not set.
  init(environment: (String) -> String?) {
    func directory(_ name: String, _ rest: String) -> String? {
      if let path = environment(name), path.hasPrefix("/") { return path }
      guard let home = environment("HOME"), home.hasPrefix("/") else { return nil }
      return home + rest
    }
    configuration = directory("XDG_CONFIG_HOME", "/.config").map { $0 + "/tactus/config.json5" }
    state = directory("XDG_STATE_HOME", "/.local/state").map { $0 + "/tactus/state.json5" }
    let shared = environment("XDG_CONFIG_DIRS").flatMap { $0.isEmpty ? nil : $0 } ?? "/etc/xdg"
    defaults = shared.split(separator: ":").filter { $0.hasPrefix("/") }.map { $0 + "/tactus/config.json5" }
  }

  static var ofThisUser: Places { Places { name in Environment.text(name) } }

  /// A path from the root. Beside a file where a file says it, and from where tactus was started where a command line or a
  /// pipe does.
  static func absolute(_ path: String, beside document: String? = nil) -> String {
    guard !path.hasPrefix("/") else { return path }
    var status = stat()
    if let document, let end = document.lastIndex(of: "/"),
      stat(document, &status) != 0 || status.st_mode & S_IFMT == S_IFREG
    {
      return absolute(String(document[...end])) + path
    }
    guard let folder = getcwd(nil, 0) else { return path }
    defer { free(folder) }
    return String(cString: folder) + "/" + path
  }

  /// The first that is there, whatever it is: a link to nowhere is no reason to take the next. nil: none.
  var presentConfiguration: String? {
    ([configuration].compactMap(\.self) + defaults).first { path in
      var found = stat()
      return lstat(path, &found) == 0 || (errno != ENOENT && errno != ENOTDIR)
    }
  }
}

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
