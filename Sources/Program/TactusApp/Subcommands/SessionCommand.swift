// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusJACK
import TactusSurface

/// `tactus session list` and `tactus session start NAME`. Each folder of `sessions/` is a ready-made studio.
struct SessionCommand: Subcommand {
  static let name = "session"
  static let summary = "Start a ready-made studio, with a DAW, synths or a tablet"
  static let operands = "list | start NAME [-- OPTION...]"
  static let operandWords = ["list", "start"]
  static let namesAfter: (word: String, lister: String)? = (
    "start", #"tactus session list 2>/dev/null | sed -n "s/  .*//p""#
  )
  static let optionHint = "options for tactus go after --: tactus session start NAME -- OPTION"
  static let description = """
    list names the sessions that come with tactus. start NAME starts one: its programs, and tactus
    with the options that you give after --. It first copies the session's files, tactus.json5 among
    them, to ~/.local/share/tactus/sessions/NAME; change them there. Ends with status 1 if the
    program beside tactus failed. Each session's README says what it does.
    """

  func run(_ operands: [String]) throws(UserError) -> Tactus.Status {
    guard let shelf = SessionShelf.found(from: Self.thisProgram) else {
      throw UserError(
        "session: no sessions beside this program; tools/install puts them there, and in a clone "
          + "tools/run session start NAME finds them")
    }
    switch (operands.first, operands.count) {
    case ("list", 1): return Console.answer(shelf.list)
    case ("start", 2...):
      let name = operands[1]
      guard let start = shelf.startScript(of: name) else {
        let hint = name.nearest(among: shelf.names).map { ": do you mean \"\($0)\"?" }
        throw UserError(
          "there is no session \"\(name)\"" + (hint ?? "; tactus session list shows all"), .mistyped)
      }
      let options = Array(operands.dropFirst(2))
      if let stray = options.first, !stray.hasPrefix("-") {
        throw UserError("start takes one name, and no \"\(stray.shortened)\"; \(Self.optionHint)", .mistyped)
      }
      // If tactus already runs, refuse now, before the session's DAW starts. PipeWire's libjack, if the
      // survey chose it, is also right for the session's programs.
      let wanted = (try? Configuration(arguments: options)) ?? Configuration()
      if let survey = try? PipeWireLibrary.survey(server: wanted.server), survey.tactus.contains(wanted.name)
      {
        throw RunningNote.objection(toSecond: wanted.name, named: "-- --name=NAME")
      }
      return Self.become(start, options)
    case ("start", _): throw UserError("start needs a name; tactus session list shows them", .mistyped)
    default: throw UserError("takes list or start", .mistyped)
    }
  }

  static let thisProgram: String = {
    var path = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let size = readlink("/proc/self/exe", &path, path.count)
    return String(decoding: path[..<max(0, size)], as: UTF8.self)
  }()

  /// Replaces this program by the script. Returns only if that failed.
  private static func become(_ script: String, _ options: [String]) -> Tactus.Status {
    setenv("TACTUS_PROGRAM", thisProgram, 1)
    var arguments = ([script] + options).map { strdup($0) }
    arguments.append(nil)
    Signals.hand { execv(script, arguments) }
    Console.complain("session: \(script): \(String(cString: strerror(errno)))")
    return .failure
  }
}

/// The folder with all sessions.
struct SessionShelf: Equatable {
  let folder: String

  /// The folder is PREFIX/share/tactus/sessions for PREFIX/bin/tactus, or a checkout's `sessions` above its
  /// build.
  static func found(from program: String) -> SessionShelf? {
    let parts = program.split(separator: "/")
    let place: [Substring]
    if let build = parts.lastIndex(where: { $0 == ".build" || $0.hasPrefix(".build-") }) {
      place = parts[..<build] + ["sessions"]
    } else if parts.dropLast().last == "bin" {
      place = parts.dropLast(2) + ["share", "tactus", "sessions"]
    } else {
      return nil
    }
    let folder = "/" + place.joined(separator: "/")
    // Be sure that this is the right folder, because its scripts get executed.
    return access(folder + "/session.sh", R_OK) == 0 ? SessionShelf(folder: folder) : nil
  }

  var names: [String] { WholeFile.names(in: folder).filter { startScript(of: $0) != nil }.sorted() }

  func startScript(of name: String) -> String? {
    guard !name.isEmpty, !name.hasPrefix("."), !name.contains("/") else { return nil }
    let script = "\(folder)/\(name)/start"
    return access(script, X_OK) == 0 ? script : nil
  }

  /// The sessions' names, each with the heading of its README.
  var list: String {
    let names = names
    let column = 2 + (names.map(\.count).max() ?? 0)
    return names.map { $0.padded(to: column) + heading(of: $0) }.joined(separator: "\n")
      + "\n\n\(folder)/NAME/README.md says more."
  }

  private func heading(of name: String) -> String {
    let line = WholeFile.firstLine("\(folder)/\(name)/README.md") ?? ""
    return String(line.drop { $0 == "#" || $0 == " " })
  }
}
