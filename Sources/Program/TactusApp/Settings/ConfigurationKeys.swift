// SPDX-License-Identifier: GPL-2.0-or-later
import TactusJSON5
import TactusOSC
import TactusSurface

/// The options as keys of a JSON5 file: a key is the option's long name.
///
/// Parsing is strict, because a typing error would otherwise show only on stage. An unknown key, a wrong type
/// or a number out of range is refused; the complaint names the line and what is allowed. The value null
/// means the same as a missing key.
struct ConfigurationKeys<Settings> {
  let options: [Option<Settings>]

  init(_ options: [Option<Settings>]) {
    self.options = options.filter { option in
      if case .answer = option.form { false } else { option.reach != .typed }
    }
  }

  /// Applies a document. `path` is the document's name in complaints. Reports all mistakes at once, each on a
  /// line.
  func apply(
    _ document: JSON5.Element, of path: String, to settings: inout Settings
  ) throws(UserError) {
    guard case .object(let members) = document.value else {
      throw UserError(
        path, line: document.line, "holds \(document.value.kind) instead of { key: value, ... }")
    }
    var mistakes: [UserError] = []
    for member in members {
      guard let option = options.first(where: { $0.long == member.name }) else {
        let text = "unknown key \"\(member.name.shortened)\"" + hint(for: member.name)
        mistakes.append(UserError(path, line: member.line, text))
        continue
      }
      mistakes += apply(member.element, of: path, to: option, of: &settings)
    }
    if !mistakes.isEmpty { throw UserError(mistakes) }
  }

  private func hint(for name: String) -> String {
    if name.hasPrefix("no-"),
      let option = options.first(where: { $0.long == name.dropFirst(3) && $0.off != nil })
    {
      return ": say \"\(option.long)\": false"
    }
    return name.nearest(among: options.map(\.long)).map { ": do you mean \"\($0)\"?" } ?? ""
  }

  private func apply(
    _ element: JSON5.Element, of path: String, to option: Option<Settings>, of settings: inout Settings
  ) -> [UserError] {
    if element.value == .null { return [] }
    let key = KeyInFile(path: path, name: option.long)
    switch option.form {
    case .answer: return []
    case .flag(let place):
      guard case .boolean(let on) = element.value else { return [key.complaint(element, "true or false")] }
      settings[keyPath: place] = on
      return []
    case .value(let value) where value.takes.repeats:
      let words = value.takes.allowed.words
      guard case .array(let elements) = element.value else {
        return [key.complaint(element, "a list [...] in which each entry is \(words)")]
      }
      value.clear(&settings)
      return Self.collect(elements) { element throws(UserError) in
        let text = try key.text(element, value.takes.allowed, "a list in which each entry is \(words)")
        if let why = value.takes.allowed.objectionBeside(text, value.read(settings)) {
          throw UserError(path, line: element.line, "\"\(option.long)\": \"\(text.shortened)\": \(why)")
        }
        value.store(&settings, text)
      }
    case .value(let value):
      switch (element.value, value.takes.bare, option.off) {
      case (.boolean(true), let bare?, _): value.store(&settings, bare)
      case (.boolean(false), _?, let off?): off(&settings)
      case (_, let bare, let off):
        let flags = bare == nil ? "" : off == nil ? " or true" : ", true or false"
        return Self.collect([element]) { element throws(UserError) in
          value.store(
            &settings, try key.text(element, value.takes.allowed, value.takes.allowed.words + flags))
        }
      }
      return []
    }
  }

  /// Reads all elements and returns the errors of those that cannot be read.
  private static func collect(
    _ elements: [JSON5.Element], _ read: (JSON5.Element) throws(UserError) -> Void
  ) -> [UserError] {
    elements.compactMap { element in
      do throws(UserError) { try read(element) } catch { return error }
      return nil
    }
  }

  /// The keys and values that would lead to these settings.
  func values(of settings: Settings) -> [(key: String, value: JSON5)] {
    options.map { ($0.long, value(of: $0, in: settings)) }
  }

  func value(of option: Option<Settings>, in settings: Settings) -> JSON5 {
    switch option.form {
    case .answer: return .null
    case .flag(let place): return .boolean(settings[keyPath: place])
    case .value(let value):
      let values = value.read(settings).map { value.takes.allowed.value(of: $0) }
      return value.takes.repeats ? .list(values) : values.first ?? .null
    }
  }
}

/// A key of a configuration file, as error messages name it.
private struct KeyInFile {
  let path: String
  let name: String

  func complaint(_ element: JSON5.Element, _ words: String) -> UserError {
    UserError(path, line: element.line, "\"\(name)\" takes \(words), not \(shown(element.value))")
  }

  func text(_ element: JSON5.Element, _ allowed: ValueRule, _ words: String) throws(UserError) -> String {
    if let text = allowed.text(from: element.value) { return allowed.kept(text, in: path) }
    guard case .string(let text) = element.value, let why = allowed.judge(text), !why.isEmpty else {
      throw complaint(element, words)
    }
    throw UserError(path, line: element.line, "\"\(name)\": \"\(text.shortened)\": \(why)")
  }
}

private func shown(_ value: JSON5) -> String {
  switch value {
  case .string(let text): "\"\(text.shortened)\""
  case .number(_, let written): written.shortened
  case .boolean(let on): "\(on)"
  case .null, .array, .object: value.kind
  }
}

extension String {
  /// Text from outside, cut to fit into a line, without the control characters that a terminal would obey.
  var shortened: String { printable(self, limit: 60) }
}

/// Reads the user's configuration, and makes the text of one, in JSON5.
enum ConfigurationFile {
  static let keys = ConfigurationKeys(Configuration.options)

  /// - Parameter orPipe: whether `path` may be a pipe. Only a path from the command line may be one.
  static func read(
    _ path: String, orPipe: Bool = false, into configuration: inout Configuration
  ) throws(UserError) {
    try apply(
      WholeFile.read(path, limit: JSON5.Limits().bytes, orPipe: orPipe), from: path, to: &configuration)
  }

  static func apply(
    _ bytes: [UInt8], from path: String, to configuration: inout Configuration
  ) throws(UserError) {
    try keys.apply(JSON5.document(bytes, from: path), of: path, to: &configuration)
  }

  /// A configuration file with every key, the key's help and its value: for `tactus config --print-default`
  /// and for the folder of a session.
  static func text(of configuration: Configuration, heading: String) -> String {
    var text = comment(heading, margin: "") + "{\n"
    for (section, members) in Section.groups(keys.options, by: \.section) {
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
    if takes.repeats { return "Allowed: a list in which each entry is \(words)." }
    guard let bare = takes.bare else { return "Allowed: \(words)." }
    return "Allowed: \(words); true is \(bare)" + (option.off == nil ? "." : ", false is off.")
  }

  private static func comment(_ words: String, margin: String) -> String {
    words.wrapped(to: 77 - margin.count).map { "\(margin)// \($0)\n" }.joined()
  }
}

extension JSON5 {
  /// Parses a file. An empty file means the same as `{}`.
  static func document(_ bytes: [UInt8], from path: String) throws(UserError) -> Element {
    do throws(Fault) {
      return try readIfAny(bytes) ?? Element(value: .object([]), line: 1)
    } catch {
      throw UserError(path, line: error.line, error.text)
    }
  }
}
