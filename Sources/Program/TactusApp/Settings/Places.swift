// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// The paths of the user's two files: the configuration, and the state that tactus remembers.
///
/// The paths follow the XDG base directory rules; a session manager's session has a folder of its own.
struct Places: Equatable, Sendable {
  /// The path of the configuration; nil: there is no place for a configuration.
  var configuration: String?
  /// The path of the state file; nil: nothing is remembered.
  var state: String?
  /// The administrator's configurations; the first that exists is read if the user has none.
  var defaults: [String] = []

  init(configuration: String?, state: String?) {
    self.configuration = configuration
    self.state = state
  }

  init(folder: String) {
    self.init(configuration: folder + "/config.json5", state: folder + "/state.json5")
  }

  /// A variable that is empty or no absolute path is treated as if it were not set.
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

  /// The absolute path. A relative path starts at the folder of `document`, the file in which it stands. A
  /// relative path from a command line or a pipe (nil) starts at the folder in which tactus was started.
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

  /// The first configuration that exists. A broken link counts as existing: the configuration after it is not
  /// read. nil: no configuration exists.
  var presentConfiguration: String? {
    ([configuration].compactMap(\.self) + defaults).first { path in
      var found = stat()
      return lstat(path, &found) == 0 || (errno != ENOENT && errno != ENOTDIR)
    }
  }
}

extension String {
  /// The text with "µs" for each "us" that follows a number, if the terminal can show it. OSC's own texts are
  /// ASCII.
  func withMicros(isUTF8: Bool = Environment.isUTF8) -> String {
    guard isUTF8 else { return self }
    let parts = split(separator: " us", omittingEmptySubsequences: false)
    return parts.dropFirst().reduce(into: String(parts[0])) { text, part in
      let isUnit = text.last?.isNumber == true && part.first?.isLetter != true
      text += (isUnit ? " \u{B5}s" : " us") + part
    }
  }
}

/// The environment variables.
enum Environment {
  /// The value of a variable; nil: the variable is not set, or empty.
  static func text(_ name: String) -> String? {
    guard let value = getenv(name), value.pointee != 0 else { return nil }
    return String(cString: value)
  }

  /// Whether the locale uses UTF-8; the first of these variables that is set decides.
  static var isUTF8: Bool {
    let locale = text("LC_ALL") ?? text("LC_CTYPE") ?? text("LANG") ?? ""
    let name = locale.lowercased()
    return name.contains("utf-8") || name.contains("utf8")
  }
}
