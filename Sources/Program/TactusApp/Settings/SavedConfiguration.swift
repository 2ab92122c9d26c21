// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusJSON5

/// `tactus save`: writes the present choices as the configuration for the next start. A file that a user
/// wrote or changed is replaced only on request, and the earlier file is kept beside the new one.
enum SavedConfiguration {
  static let heading =
    "The settings when tactus save wrote this, in JSON5: change what you like, or save again. null "
    + "means: as if the key were not here. Options on the command line win over this file; so does a "
    + "choice that tactus remembers, until you edit its key here."

  /// The keys that say how this run starts and prints. For these keys, the saved file keeps the values of
  /// the earlier file.
  private static let ofThisRun = ["json", "tui", "wait"]

  static func before(_ path: String) -> String { path + ".before" }

  /// - Parameters:
  ///   - file: the settings of the file that is there now.
  ///   - others: the names of other tactus that run for this user, and may use the same file.
  ///   - replacing: whether to replace even a file that a user wrote, or that another tactus uses.
  /// - Returns: a line for the user.
  static func write(
    _ present: Configuration, over file: Configuration, to path: String?, besides others: [String],
    replacing: Bool
  ) throws(UserError) -> String {
    guard let path else { throw UserError("there is no place for a configuration: HOME is not set") }
    guard replacing || others.isEmpty else {
      throw UserError(
        "\(others[0]) runs, too, and \(path) is for every tactus that names no other configuration: "
          + "tactus save --name=\(present.name) --replace writes the settings of this one")
    }
    var configuration = present
    for option in ConfigurationFile.keys.options where ofThisRun.contains(option.long) {
      option.copy(from: file, to: &configuration)
    }
    let text = Self.text(of: configuration)
    var note = ""
    try WholeFile.change(path, limit: JSON5.Limits().bytes) { bytes throws(UserError) in
      guard let bytes, !bytes.isEmpty, bytes != Array(text.utf8) else { return text }
      guard bytes.count <= JSON5.Limits().bytes, let earlier = String(validating: bytes, as: UTF8.self) else {
        throw UserError("\(path) is no configuration, and is left alone")
      }
      guard replacing || isOurs(bytes) else {
        throw UserError(
          "\(path) was written by hand: tactus save --replace puts the present settings in its place, and "
            + "keeps it as \(before(path)); tactus config --print shows them")
      }
      try WholeFile.write(earlier, to: before(path))
      note = "; the previous settings are in \(before(path)) now"
      return text
    }
    return "saved to \(path)\(note)"
  }

  /// Whether tactus wrote this file and no one changed it since: if tactus writes the file's settings again,
  /// the bytes are equal.
  private static func isOurs(_ bytes: [UInt8]) -> Bool {
    var configuration = Configuration()
    guard (try? ConfigurationFile.apply(bytes, from: "", to: &configuration)) != nil else { return false }
    return bytes == Array(text(of: configuration).utf8)
  }

  private static func text(of configuration: Configuration) -> String {
    ConfigurationFile.text(of: configuration, heading: heading) + "\n"
  }
}
