// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import JSON5

/// Where a tactus that runs can be reached: a note in the user's directory for such things, so that commands find one
/// that has another port than the usual.
///
/// Its writer holds a lock on it as long as it lives; a note that nobody holds is left from a crash, and is taken away
/// by the command that finds it.
final class RunningNote {
  struct Content: Equatable {
    /// As JACK knows it.
    var name: String
    var port: Int
  }

  /// Why no second one is started under this name: the two would pull at one transport, and nobody asked for both. JACK
  /// knows that it is there; where its OSC is, a note tells, if there is a place for one.
  static func objection(toSecond name: String, named option: String = "--name=NAME") -> Complaint {
    let port = all().first { $0.name == name }.map { ", OSC port \($0.port)" } ?? ""
    return Complaint(
      "tactus runs already, as JACK client \"\(name.shortened)\"\(port): tactus status says how it is, "
        + "tactus send quit ends it; \(option) starts a second one beside it")
  }

  private static let ending = ".json5"
  private static let limit = 64
  private static let longest = 4096

  private let path: String
  private let file: Int32

  /// nil: there is no such directory, or nothing can be written there. Nobody has to know: the usual port is tried anyway.
  init?(_ content: Content, in folder: String? = RunningNote.folder) {
    guard let folder, mkdir(folder, 0o700) == 0 || errno == EEXIST else { return nil }
    path = "\(folder)/\(getpid())\(Self.ending)"
    let fresh = path + ".new"
    file = open(fresh, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { return nil }
    let text = JSON5.fields(["name": .string(content.name), "port": .of(content.port)]).text + "\n"
    // Locked before it has its name: nobody may find it without a holder.
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

  /// `$XDG_RUNTIME_DIR/tactus`; where it is empty, no absolute path or not set (sudo, cron), systemd's directory for the
  /// user, if there is one.
  static func folder(_ variable: String?, ofUsers users: String = "/run/user") -> String? {
    if let variable, variable.hasPrefix("/") { return variable + "/tactus" }
    let usual = "\(users)/\(geteuid())"
    return access(usual, W_OK) == 0 ? usual + "/tactus" : nil
  }

  /// Of all that run, by their ports.
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
