// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import JSON5

/// `tactus save`: what holds, as the configuration of the next start. A file that somebody has written, or changed, is theirs: it is
/// replaced only if they say so, and whatever was there before is kept beside it.
enum SavedConfiguration {
  static let heading =
    "What held when tactus save wrote this, in JSON5: change what you like, or save again. null means: as if the key were not "
    + "here. Options on the command line win over this file; so does a choice that tactus remembers, until you edit its key here."

  /// How a run shows itself and begins is no choice for all of them.
  private static let ofThisRun = ["json", "tui", "wait"]

  static func before(_ path: String) -> String { path + ".before" }

  /// - Parameters:
  ///   - file: what the file says now.
  ///   - others: the names of other tactus that run for this user, and may have the same file.
  ///   - replacing: also one that somebody has written, or that is another one's, too.
  /// - Returns: what is to be said of it.
  static func write(
    _ present: Configuration, over file: Configuration, to path: String?, besides others: [String],
    replacing: Bool
  ) throws(Complaint) -> String {
    guard let path else { throw Complaint("there is no place for a configuration: HOME is not set") }
    guard replacing || others.isEmpty else {
      throw Complaint(
        "\(others[0]) runs, too, and \(path) is what a tactus starts with that is given no other: "
          + "tactus save --name=\(present.name) --replace writes what this one has")
    }
    var configuration = present
    for option in ConfigurationFile.keys.options where ofThisRun.contains(option.long) {
      option.copy(from: file, to: &configuration)
    }
    let text = Self.text(of: configuration)
    var note = ""
    try WholeFile.change(path, limit: JSON5.Limits().bytes) { bytes throws(Complaint) in
      guard let bytes, !bytes.isEmpty, bytes != Array(text.utf8) else { return text }
      guard bytes.count <= JSON5.Limits().bytes, let earlier = String(validating: bytes, as: UTF8.self) else {
        throw Complaint("\(path) is no configuration, and is left alone")
      }
      guard replacing || isOurs(bytes) else {
        throw Complaint(
          "\(path) was written by hand: tactus save --replace puts what holds now in its place, and keeps it as "
            + "\(before(path)); tactus config --print shows it")
      }
      try WholeFile.write(earlier, to: before(path))
      note = "; what was there is \(before(path)) now"
      return text
    }
    return "saved to \(path)\(note)"
  }

  /// Every byte is as tactus would write what the file says.
  private static func isOurs(_ bytes: [UInt8]) -> Bool {
    var configuration = Configuration()
    guard (try? ConfigurationFile.apply(bytes, from: "", to: &configuration)) != nil else { return false }
    return bytes == Array(text(of: configuration).utf8)
  }

  private static func text(of configuration: Configuration) -> String {
    ConfigurationFile.text(of: configuration, heading: heading) + "\n"
  }
}
