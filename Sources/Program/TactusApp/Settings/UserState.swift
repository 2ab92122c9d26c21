// SPDX-License-Identifier: GPL-2.0-or-later
import TactusJSON5

/// The choices that tactus remembers from one run to the next: those that were made while it ran.
///
/// A remembered choice wins over the configuration until the user edits its key in the configuration. The
/// command line counts for one run only, and is not remembered.
struct UserState: Equatable {
  static let keys = ConfigurationKeys(Configuration.options.filter(\.isRemembered))

  private struct Entry: Equatable {
    var value: JSON5
    /// The configuration's value when the choice was made.
    var over: JSON5
  }

  private var entries: [String: Entry] = [:]
  /// Members of the file that this version cannot read. They have no effect, and are written back unchanged.
  private var kept: [String: JSON5] = [:]
  /// Complaints about the members in `kept` whose key this version knows but whose value it cannot
  /// read, each on a line.
  private(set) var unreadable: [String] = []

  init() {}

  static func == (one: UserState, other: UserState) -> Bool {
    one.entries == other.entries && one.kept == other.kept
  }

  init(_ bytes: [UInt8], from path: String) throws(UserError) {
    let document = try JSON5.document(bytes, from: path)
    guard case .object(let members) = document.value else {
      throw UserError(path, line: document.line, "holds \(document.value.kind) instead of an object")
    }
    for member in members {
      guard Self.keys.options.contains(where: { $0.long == member.name }) else {
        kept[member.name] = member.element.value
        continue
      }
      do throws(UserError) {
        entries[member.name] = try Self.entry(member, of: path)
      } catch {
        kept[member.name] = member.element.value
        unreadable.append(error.inALine)
      }
    }
  }

  private static func entry(_ member: JSON5.Member, of path: String) throws(UserError) -> Entry {
    guard case .object(let parts) = member.element.value,
      let value = parts.first(where: { $0.name == "is" })?.element.value,
      let over = parts.first(where: { $0.name == "over" })?.element.value
    else { throw UserError(path, line: member.line, "\"\(member.name)\" must be { is: ..., over: ... }") }
    // Both values must be allowed for the option.
    var nobodys = Configuration()
    for value in [value, over] {
      try keys.apply(document(member.name, value, line: member.line), of: path, to: &nobodys)
    }
    return Entry(value: value, over: over)
  }

  /// Adds later choices, which replace earlier choices.
  mutating func merge(_ later: UserState) {
    entries.merge(later.entries) { _, later in later }
    for name in later.entries.keys { kept[name] = nil }
  }

  /// - Parameter file: the settings of the configuration file alone.
  func apply(to configuration: inout Configuration, over file: Configuration) {
    for (name, value) in values(over: file) {
      // A remembered null means that the user removed the value. As a key of a configuration, null would
      // change nothing.
      if value == .null {
        Self.keys.options.first { $0.long == name }?.copy(from: Configuration(), to: &configuration)
      }
      try? Self.keys.apply(Self.document(name, value), of: "", to: &configuration)
    }
  }

  func values(over file: Configuration) -> [(key: String, value: JSON5)] {
    Self.keys.options.compactMap { option in
      guard let entry = entries[option.long], entry.over.text == Self.keys.value(of: option, in: file).text
      else {
        return nil
      }
      return (option.long, entry.value)
    }
  }

  /// Notes the choices that differ from `before`. Returns whether there are any.
  mutating func remember(
    _ configuration: Configuration, since before: Configuration, over file: Configuration
  ) -> Bool {
    var isNew = false
    for option in Self.keys.options {
      let value = Self.keys.value(of: option, in: configuration)
      guard value.text != Self.keys.value(of: option, in: before).text else { continue }
      kept[option.long] = nil
      entries[option.long] = Entry(value: value, over: Self.keys.value(of: option, in: file))
      isNew = true
    }
    return isNew
  }

  var text: String {
    var members = kept.mapValues(\.text)
    for (name, entry) in entries {
      members[name] = "{\"is\": \(entry.value.text), \"over\": \(entry.over.text)}"
    }
    let lines = members.sorted { $0.key < $1.key }.map { "  \(JSON5.quoted($0)): \($1),\n" }
    return """
      // What tactus remembers between two runs. It writes this file itself; yours is the configuration.
      // A value holds until the configuration says something else than it did when this was remembered
      // ("over").
      {
      \(lines.joined())}

      """
  }

  private static func document(_ name: String, _ value: JSON5, line: Int = 0) -> JSON5.Element {
    let element = JSON5.Element(value: value, line: line)
    return JSON5.Element(value: .object([.init(name: name, line: line, element: element)]), line: line)
  }
}
