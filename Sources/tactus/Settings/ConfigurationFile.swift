// SPDX-License-Identifier: GPL-2.0-or-later
import ControlSurface
import JSON5

/// What the user chose by hand, in JSON5. It is read and never written.
enum ConfigurationFile {
  static let keys = Keys(Configuration.options)

  /// - Parameter orPipe: what was typed may be one.
  static func read(
    _ path: String, orPipe: Bool = false, into configuration: inout Configuration
  ) throws(FileFault) {
    try apply(FileFault.bytes(path, orPipe: orPipe), from: path, to: &configuration)
  }

  static func apply(
    _ bytes: [UInt8], from path: String, to configuration: inout Configuration
  ) throws(FileFault) {
    let document = try FileFault.document(bytes, from: path)
    do throws(Keys<Configuration>.Fault) {
      try keys.apply(document, to: &configuration)
    } catch {
      throw FileFault(path, line: error.line, error.text)
    }
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
    switch option.form {
    case .answer: ""
    case .flag: "Allowed: true or false."
    case .value(let value) where value.clear != nil: "Allowed: a list, each of it \(value.allowed.words)."
    case .value(let value): "Allowed: \(value.allowed.words)."
    case .optionalValue(let value, let bare):
      "Allowed: \(value.allowed.words); true is \(bare)" + (option.off == nil ? "." : ", false is off.")
    }
  }

  private static func comment(_ words: String, margin: String) -> String {
    words.wrapped(to: 77 - margin.count).map { "\(margin)// \($0)\n" }.joined()
  }
}
