// SPDX-License-Identifier: GPL-2.0-or-later
import ControlSurface
import JSON5

/// What the user chose by hand, in JSON5. It is read and never written.
enum ConfigurationFile {
  static let keys = Keys(Configuration.options)

  /// - Parameter orPipe: what was typed may be one.
  static func read(
    _ path: String, orPipe: Bool = false, into configuration: inout Configuration
  ) throws(Complaint) {
    try apply(
      WholeFile.read(path, limit: JSON5.Limits().bytes, orPipe: orPipe), from: path, to: &configuration)
  }

  static func apply(
    _ bytes: [UInt8], from path: String, to configuration: inout Configuration
  ) throws(Complaint) {
    try keys.apply(JSON5.document(bytes, from: path), of: path, to: &configuration)
  }

  /// A configuration that says what this one says, with every key and its words: `tactus config --print-default`, and
  /// what a session's folder is given.
  static func text(of configuration: Configuration, heading: String) -> String {
    var text = comment(heading, margin: "") + "{\n"
    for section in Section.allCases {
      let members = keys.options.filter { $0.section == section }
      guard !members.isEmpty else { continue }
      text += "  // \(section.rawValue)\n\n"
      for option in members {
        text += comment(option.help, margin: "  ") + comment(allowed(option), margin: "  ")
        text += "  \(key(option.long)): \(keys.value(of: option, in: configuration).text),\n\n"
      }
    }
    return text.dropLast() + "}"
  }

  private static func key(_ name: String) -> String { name.contains("-") ? JSON5.quoted(name) : name }

  private static func allowed(_ option: Option<Configuration>) -> String {
    guard let takes = option.takes else { return "Allowed: true or false." }
    let words = takes.allowed.words
    if takes.repeats { return "Allowed: a list, each of it \(words)." }
    guard let bare = takes.bare else { return "Allowed: \(words)." }
    return "Allowed: \(words); true is \(bare)" + (option.off == nil ? "." : ", false is off.")
  }

  private static func comment(_ words: String, margin: String) -> String {
    words.wrapped(to: 77 - margin.count).map { "\(margin)// \($0)\n" }.joined()
  }
}

extension JSON5 {
  /// A file that says nothing means nothing, as `{}` does.
  static func document(_ bytes: [UInt8], from path: String) throws(Complaint) -> Element {
    do throws(Fault) {
      return try readIfAny(bytes) ?? Element(value: .object([]), line: 1)
    } catch {
      throw Complaint(path, line: error.line, error.text)
    }
  }
}
