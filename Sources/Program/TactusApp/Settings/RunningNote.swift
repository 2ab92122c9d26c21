// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusJSON5

/// A note in the user's runtime directory that holds the OSC port of a running tactus, so that commands find
/// that tactus at any port.
///
/// A running tactus holds a lock on its note. A note without a lock is left over from a crash; the command
/// that finds it deletes it.
final class RunningNote {
  struct Content: Equatable {
    /// The name of the JACK client.
    var name: String
    var port: Int
  }

  /// The complaint about a second tactus with this name: two would control one transport. JACK has shown that
  /// the first one runs. Its note, if there is one, has its OSC port.
  static func objection(toSecond name: String, named option: String = "--name=NAME") -> UserError {
    let port = all().first { $0.name == name }.map { ", OSC port \($0.port)" } ?? ""
    return UserError(
      "tactus runs already, as JACK client \"\(name.shortened)\"\(port): tactus status shows its state, "
        + "tactus send quit ends it; \(option) starts a second one beside it")
  }

  private static let ending = ".json5"
  private static let limit = 64
  private static let longest = 4096

  private let path: String
  private let file: Int32

  /// Writes the note and locks it; nil: there is no runtime directory, or tactus can't write to it. No
  /// complaint is needed: commands try the usual port anyway.
  init?(_ content: Content, in folder: String? = RunningNote.folder) {
    guard let folder, mkdir(folder, 0o700) == 0 || errno == EEXIST else { return nil }
    path = "\(folder)/\(getpid())\(Self.ending)"
    let fresh = path + ".new"
    file = open(fresh, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { return nil }
    let text = JSON5.fields(["name": .string(content.name), "port": .of(content.port)]).text + "\n"
    // Lock the file before it gets its name: a command that finds an unlocked note deletes it.
    guard flock(file, LOCK_EX | LOCK_NB) == 0, write(file, text, text.utf8.count) == text.utf8.count,
      rename(fresh, path) == 0
    else {
      unlink(fresh)
      return nil
    }
  }

  deinit {
    guard file >= 0 else { return }
    unlink(path)
    close(file)
  }

  static var folder: String? { folder(Environment.text("XDG_RUNTIME_DIR")) }

  /// The folder of the notes: `$XDG_RUNTIME_DIR/tactus`. If the variable is empty, relative or not set (sudo,
  /// cron), the folder is in systemd's directory for the user, if there is one.
  static func folder(_ variable: String?, ofUsers users: String = "/run/user") -> String? {
    if let variable, variable.hasPrefix("/") { return variable + "/tactus" }
    let usual = "\(users)/\(geteuid())"
    return access(usual, W_OK) == 0 ? usual + "/tactus" : nil
  }

  /// The notes of all running tactus, sorted by port.
  static func all(in folder: String? = RunningNote.folder) -> [Content] {
    guard let folder else { return [] }
    let notes = WholeFile.names(in: folder).lazy.filter { $0.hasSuffix(ending) }
    let found = notes.compactMap { read(folder + "/" + $0) }.prefix(limit)
    return found.sorted { ($0.port, $0.name) < ($1.port, $1.name) }
  }

  private static func read(_ path: String) -> Content? {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    guard flock(file, LOCK_SH | LOCK_NB) != 0 else {
      unlink(path)
      return nil
    }
    guard let bytes = try? WholeFile.read(path, limit: longest),
      case .object(let members)? = try? JSON5.read(bytes).value
    else { return nil }
    let fields = Dictionary(
      members.map { ($0.name, $0.element.value) }, uniquingKeysWith: { first, _ in first })
    guard case .string(let name)? = fields["name"], case .number(let port, _)? = fields["port"],
      (1...65_535).contains(port)
    else { return nil }
    return Content(name: name, port: Int(port))
  }
}
