// SPDX-License-Identifier: GPL-2.0-or-later

/// One argument of an OSC message, as liblo took it apart. Tags that carry nothing of use here are `.other`.
public enum Argument: Hashable, Sendable {
  case int32(Int32)
  case int64(Int64)
  case float32(Float)
  case float64(Double)
  case string(String)
  case truth(Bool)
  case null
  case impulse
  case other(tag: UInt8)

  /// What controllers mean by a number: any numeric type, a boolean, or digits as text. nil when it is none.
  public var number: Double? {
    switch self {
    case .int32(let value): Double(value)
    case .int64(let value): Double(value)
    case .float32(let value): value.isFinite ? Double(value) : nil
    case .float64(let value): value.isFinite ? value : nil
    case .string(let text): Double(text).flatMap { $0.isFinite ? $0 : nil }
    case .truth(let value): value ? 1 : 0
    case .null, .impulse, .other: nil
    }
  }

  /// The type tag that it is sent with.
  package var tag: Character {
    switch self {
    case .int32: "i"
    case .int64: "h"
    case .float32: "f"
    case .float64: "d"
    case .string: "s"
    case .truth(let value): value ? "T" : "F"
    case .null: "N"
    case .impulse: "I"
    case .other(let tag): Character(UnicodeScalar(tag))
    }
  }
}

public struct Message: Hashable, Sendable {
  public var address: String
  public var arguments: [Argument]

  public init(_ address: String, _ arguments: Argument...) {
    self.init(address, arguments: arguments)
  }

  public init(_ address: String, arguments: [Argument]) {
    self.address = address
    self.arguments = arguments
  }
}

/// Text from outside, safe to show in a terminal: no control characters, cut at `limit`.
package func printable(_ text: String, limit: Int) -> String {
  var shown = ""
  for scalar in text.unicodeScalars.prefix(limit) {
    shown.unicodeScalars.append(scalar.properties.generalCategory == .control ? "?" : scalar)
  }
  return text.unicodeScalars.count > limit ? shown + "..." : shown
}
