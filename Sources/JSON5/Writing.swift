// SPDX-License-Identifier: GPL-2.0-or-later

/// What is written is JSON as well as JSON5, on one line; what has no place in JSON (NaN, infinity) becomes null.
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

  /// 20 rather than 20.0.
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

  // For documents of our own; the lines mean nothing.

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
