// SPDX-License-Identifier: GPL-2.0-or-later

/// JSON to be written; members keep their order. Nothing here is ever parsed.
package enum JSON {
  case null
  case truth(Bool)
  case whole(Int64)
  case number(Double)
  case text(String)
  case list([JSON])
  case object([(String, JSON)])

  package var text: String {
    var text = ""
    write(to: &text)
    return text
  }

  private func write(to text: inout String) {
    switch self {
    case .null: text += "null"
    case .truth(let value): text += value ? "true" : "false"
    case .whole(let value): text += "\(value)"
    case .number(let value): text += value.isFinite ? "\(value)" : "null"
    case .text(let value): Self.quote(value, to: &text)
    case .list(let values):
      text += "["
      for (index, value) in values.enumerated() {
        if index > 0 { text += "," }
        value.write(to: &text)
      }
      text += "]"
    case .object(let members):
      text += "{"
      for (index, (name, value)) in members.enumerated() {
        if index > 0 { text += "," }
        Self.quote(name, to: &text)
        text += ":"
        value.write(to: &text)
      }
      text += "}"
    }
  }

  private static func quote(_ value: String, to text: inout String) {
    text += "\""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case let scalar where scalar.value < 0x20:
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
      case let scalar: text.unicodeScalars.append(scalar)
      }
    }
    text += "\""
  }
}
