// SPDX-License-Identifier: GPL-2.0-or-later

/// JSON5 as people write it: JSON with comments, names without quotes, single quotes, trailing commas,
/// hexadecimal numbers and strings over several lines. Every value keeps the number of its line for error
/// messages.
///
/// Left out are numbers beyond `Double`, streams, and any idea of what a document means. Three things that
/// are always mistakes are refused, although the standard allows them: a name twice in one object, text that
/// is not UTF-8, and half of a surrogate pair.
///
/// One invariant: every sequence of bytes gives a value or one `Fault`, in time and memory proportional to
/// its length.
///
///     let document = try JSON5.read(bytes)
public enum JSON5: Equatable, Sendable {
  case null
  case boolean(Bool)
  /// A number and its text in the document: some readers distinguish 4 from 4.0.
  case number(Double, written: String)
  case string(String)
  case array([Element])
  case object([Member])

  /// A value and the line on which it begins, counted from 1.
  public struct Element: Equatable, Sendable {
    public let value: JSON5
    public let line: Int

    public init(value: JSON5, line: Int) {
      self.value = value
      self.line = line
    }
  }

  public struct Member: Equatable, Sendable {
    public let name: String
    /// The line on which the member's name stands.
    public let line: Int
    public let element: Element

    public init(name: String, line: Int, element: Element) {
      self.name = name
      self.line = line
      self.element = element
    }
  }

  public struct Fault: Error, Equatable, Sendable {
    public let line: Int
    /// The error without its line number, such as "a string that does not end".
    public let text: String
  }

  /// Limits for a document that comes from outside.
  public struct Limits: Sendable {
    public var bytes = 1 << 20
    /// The limit for nested arrays and objects.
    public var depth = 64
    /// The limit for all values and members of the document together.
    public var values = 1 << 16
    /// Refuses everything that JSON5 adds to JSON (RFC 8259), and numbers that `Double` cannot hold.
    public var isStrict = false
    public init() {}
  }

  public static func read(_ bytes: [UInt8], limits: Limits = Limits()) throws(Fault) -> Element {
    var reader = try Reader(bytes, limits: limits)
    return try reader.document()
  }

  /// Returns nil if the document holds only space and comments.
  public static func readIfAny(_ bytes: [UInt8], limits: Limits = Limits()) throws(Fault) -> Element? {
    var reader = try Reader(bytes, limits: limits)
    return try reader.isEmpty() ? nil : reader.document()
  }
}

extension JSON5 {
  /// The kind of a value in words for error messages, such as "text" or "a number".
  public var kind: String {
    switch self {
    case .null: "null"
    case .boolean: "true or false"
    case .number: "a number"
    case .string: "text"
    case .array: "a list"
    case .object: "an object"
    }
  }
}

/// Writing: the text is one line and valid as JSON and as JSON5. NaN and infinity, which JSON lacks, become
/// null.
extension JSON5 {
  public var text: String {
    switch self {
    case .null: "null"
    case .boolean(let value): value ? "true" : "false"
    case .number(let value, _): Self.text(value)
    case .string(let text): Self.quoted(text)
    case .array(let elements): "[" + elements.map(\.value.text).joined(separator: ", ") + "]"
    case .object(let members):
      "{" + members.map { "\(Self.quoted($0.name)): \($0.element.value.text)" }.joined(separator: ", ") + "}"
    }
  }

  /// The number as JSON text, without a needless fraction: 20 rather than 20.0.
  public static func text(_ number: Double) -> String {
    guard number.isFinite else { return "null" }
    let text = number.description
    return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
  }

  public static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case "\n": quoted += "\\n"
      case "\t": quoted += "\\t"
      case "\r": quoted += "\\r"
      case _ where scalar.value < 0x20 || scalar.endsLine || (0x7F...0x9F).contains(scalar.value):
        let digits = String(scalar.value, radix: 16)
        quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }

  // Values for documents that the program makes itself. Such documents have no line numbers, so each line is
  // 0.

  public static func of(_ number: Double) -> JSON5 { .number(number, written: text(number)) }
  public static func of(_ number: Int) -> JSON5 { .number(Double(number), written: "\(number)") }

  public static func list(_ values: [JSON5]) -> JSON5 { .array(values.map { Element(value: $0, line: 0) }) }

  public static func fields(_ parts: KeyValuePairs<String, JSON5>...) -> JSON5 {
    fields(parts.flatMap { $0.map { ($0.key, $0.value) } })
  }

  public static func fields(_ fields: [(String, JSON5)]) -> JSON5 {
    .object(fields.map { Member(name: $0.0, line: 0, element: Element(value: $0.1, line: 0)) })
  }
}
