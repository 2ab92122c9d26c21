// SPDX-License-Identifier: GPL-2.0-or-later

/// A value in a peer's answer, which is a JSON object without nested values.
public enum FlatJSON: Equatable, Sendable {
  case number(Double)
  case boolean(Bool)
  case text(String)
  case null

  public var number: Double? {
    if case .number(let value) = self { value } else { nil }
  }

  /// The fields of the JSON object in a line of text; nil if the line is not such an object.
  public static func object(_ line: String) -> [String: FlatJSON]? {
    var rest = Substring(line)
    var fields: [String: FlatJSON] = [:]
    guard skip("{", from: &rest) else { return nil }
    if skip("}", from: &rest) { return fields }
    repeat {
      guard let name = string(from: &rest), skip(":", from: &rest), let value = value(from: &rest) else {
        return nil
      }
      fields[name] = value
    } while skip(",", from: &rest)
    return skip("}", from: &rest) ? fields : nil
  }

  private static func skip(_ character: Character, from rest: inout Substring) -> Bool {
    rest = rest.drop { $0.isWhitespace }
    guard rest.first == character else { return false }
    rest.removeFirst()
    return true
  }

  private static func string(from rest: inout Substring) -> String? {
    guard skip("\"", from: &rest) else { return nil }
    var text = ""
    while let character = rest.popFirst() {
      switch character {
      case "\"": return text
      case "\\":
        guard let escaped = rest.popFirst() else { return nil }
        text.append(escaped == "n" ? "\n" : escaped)
      default: text.append(character)
      }
    }
    return nil
  }

  private static func value(from rest: inout Substring) -> FlatJSON? {
    rest = rest.drop { $0.isWhitespace }
    if rest.first == "\"" { return string(from: &rest).map { .text($0) } }
    let word = rest.prefix { !$0.isWhitespace && $0 != "," && $0 != "}" }
    rest = rest.dropFirst(word.count)
    switch word {
    case "true": return .boolean(true)
    case "false": return .boolean(false)
    case "null": return .null
    default: return Double(word).map { .number($0) }
    }
  }
}
