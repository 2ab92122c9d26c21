// SPDX-License-Identifier: GPL-2.0-or-later

/// JSON5 as people write it: JSON with comments, names without quotes, single quotes, a comma too many, hexadecimal
/// numbers and long strings. Everything knows the line that it stands on, so that whoever reads it can say where
/// something is wrong.
///
/// What it lacks: numbers beyond `Double`, streams, and any idea of what a document means. Stricter than the
/// standard in three things that are always mistakes: a name twice in one object, text that is not UTF-8, and half of
/// a surrogate pair.
///
/// One invariant: whatever the bytes, there is a value or one `Fault`, after time and memory in proportion to them.
///
///     let document = try JSON5.read(bytes)
public enum JSON5: Equatable, Sendable {
  case null
  case boolean(Bool)
  /// The text as it stood there, too: 4 and 4.0 are not always the same to a reader.
  case number(Double, written: String)
  case string(String)
  case array([Element])
  case object([Member])

  /// A value and the line that it begins on; the first is 1.
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
    /// Of the name.
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
    /// Without the line: "a string that does not end".
    public let text: String
  }

  /// For a document that comes from outside.
  public struct Limits: Sendable {
    public var bytes = 1 << 20
    /// Of arrays and objects in each other.
    public var depth = 64
    /// All values and members together.
    public var values = 1 << 16
    public init() {}
  }

  public static func read(_ bytes: [UInt8], limits: Limits = Limits()) throws(Fault) -> Element {
    var reader = try Reader(bytes, limits: limits)
    return try reader.document()
  }

  /// nil: nothing but space and comments.
  public static func readIfAny(_ bytes: [UInt8], limits: Limits = Limits()) throws(Fault) -> Element? {
    var reader = try Reader(bytes, limits: limits)
    return try reader.isEmpty() ? nil : reader.document()
  }
}

extension JSON5 {
  /// "text", "a number": what somebody wrote instead of what was wanted.
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
