// SPDX-License-Identifier: GPL-2.0-or-later
import JSON5

/// Something in a file of the user's is wrong: one line that says where and what would be right.
struct FileFault: Error, Equatable {
  let text: String

  init(_ path: String, line: Int, _ text: String) { self.text = "\(path):\(line): \(text)" }
  init(_ failure: WholeFile.Failure) { text = failure.text }
}

/// What the user chose by hand, in JSON5. It is read and never written.
enum ConfigurationFile {
  static let keys = Keys(Configuration.options)

  static func read(_ path: String, into configuration: inout Configuration) throws(FileFault) {
    let bytes: [UInt8]
    do throws(WholeFile.Failure) {
      bytes = try WholeFile.read(path, limit: JSON5.Limits().bytes)
    } catch {
      throw FileFault(error)
    }
    try apply(bytes, from: path, to: &configuration)
  }

  static func apply(
    _ bytes: [UInt8], from path: String, to configuration: inout Configuration
  ) throws(FileFault) {
    let document: JSON5.Element
    do throws(JSON5.Fault) {
      document = try JSON5.read(bytes)
    } catch {
      throw FileFault(path, line: error.line, error.text)
    }
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
