// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkSodium

/// `tactus far-key`: makes, takes over or shows the key that all rooms share.
struct FarKeyCommand: Subcommand {
  static let name = "far-key"
  static let summary = "Make the key for other rooms, or enter a key that was made there"
  static let description = """
    Makes a key, shows it and keeps it in a file that nobody else on this machine can read.
    The other rooms take the key by tactus far-key --typed: pass it on in a way that nobody
    else can read. Every room that has the key can play along, and change all that you can.
    """
  static let options: [Option<FarKeyCommand>] = [
    Option(
      "typed", in: .other, .flag(\.isTyped),
      help:
        "Read the key from the terminal or a pipe: the key that the other room shows, or any words of yours with at least \(KeyText.least) "
        + "letters together."),
    Option(
      "file", in: .other, .value("FILE", .file, \.file),
      help:
        "Keep the key in this file, for --link-key (default: the file that tactus reads without --link-key)."),
    Option("show", in: .other, .flag(\.shows), help: "Show the key that is in the file."),
  ]

  var isTyped = false
  var shows = false
  var file: String?

  func run(_ operands: [String]) throws(UserError) -> Tactus.Status {
    guard let path = file ?? FarKeyFile.usualPath() else {
      throw UserError("neither XDG_CONFIG_HOME nor HOME says where keys are; write --file=FILE")
    }
    do throws(KeyFile.Failure) {
      if shows { return Console.answer(try KeyFile.read(path).written) }
      let text = isTyped ? try typed() : KeyText.drawn()
      if file == nil { Self.makeFolder(of: path) }
      try KeyFile.write(text, to: path)
      return Console.answer(
        isTyped ? "Kept in \(path)." : "\(text)\nKept in \(path). In the other rooms: tactus far-key --typed")
    } catch {
      throw UserError(FarKeyFile.words(error, at: path, isUsual: file == nil))
    }
  }

  private func typed() throws(KeyFile.Failure) -> String {
    if isatty(STDIN_FILENO) == 1 { Console.complain("Type the key, and Enter:") }
    let line = readLine() ?? ""
    do throws(KeyText.Refusal) {
      return try KeyText(line).written
    } catch {
      throw .unusable(error)
    }
  }

  private static func makeFolder(of path: String) {
    guard let end = path.lastIndex(of: "/") else { return }
    let folder = String(path[..<end])
    if let upper = folder.lastIndex(of: "/"), upper > folder.startIndex {
      mkdir(String(folder[..<upper]), 0o700)
    }
    mkdir(folder, 0o700)
  }
}
