// SPDX-License-Identifier: GPL-2.0-or-later
import TactusJSON5
import TactusOSC

/// An OSC message as a line of JSON: `["/tactus/tempo", 128]`. The parser is strict and accepts any bytes
/// without failing; time and memory are proportional to the line's length.
enum JSONLine {
  /// How many arguments a packet may have.
  static let argumentLimit = 64

  struct Fault: Error, Equatable {
    let words: String
    /// The address of the malformed message; empty: unknown.
    var address = ""
  }

  static func text(_ message: Message) -> String {
    var text = "[" + JSON5.quoted(message.address)
    for argument in message.arguments { text += "," + self.text(argument) }
    return text + "]"
  }

  private static func text(_ argument: Argument) -> String {
    switch argument {
    case .int32(let value): "\(value)"
    case .int64(let value): "\(value)"
    // Write the shortest digits that give the same float: 0.1, not 0.10000000149.
    case .float32(let value): number(value.isFinite, "\(value)")
    case .float64(let value): number(value.isFinite, "\(value)")
    case .string(let text): JSON5.quoted(text)
    case .truth(let value): "\(value)"
    case .null, .impulse, .other: "null"
    }
  }

  private static func number(_ isFinite: Bool, _ text: String) -> String {
    guard isFinite else { return "null" }
    return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
  }

  static func message(_ line: some Sequence<UInt8>) throws(Fault) -> Message {
    let value: JSON5
    do throws(JSON5.Fault) {
      value = try JSON5.read(Array(line), limits: limits).value
    } catch {
      throw Fault(words: error.text)
    }
    guard case .array(let elements) = value, case .string(let address)? = elements.first?.value else {
      throw Fault(words: "a line is a list that begins with an address: [\"/tactus/tempo\", 128]")
    }
    guard address.utf8.first == UInt8(ascii: "/"), address.utf8.count <= PacketCheck.addressLimit,
      address.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
    else {
      throw Fault(
        words: "an address is / and at most \(PacketCheck.addressLimit) printable letters", address: address)
    }
    guard elements.count <= 1 + argumentLimit else {
      throw Fault(words: "at most \(argumentLimit) arguments", address: address)
    }
    var arguments: [Argument] = []
    for element in elements.dropFirst() {
      guard let argument = argument(element.value) else {
        throw Fault(words: "an argument is a number, text, true, false or null", address: address)
      }
      arguments.append(argument)
    }
    return Message(address, arguments: arguments)
  }

  private static let limits: JSON5.Limits = {
    var limits = JSON5.Limits()
    limits.isStrict = true
    limits.depth = 1
    return limits
  }()

  /// The value as an OSC argument; nil: OSC has no such argument. OSC texts end at the first zero byte.
  private static func argument(_ value: JSON5) -> Argument? {
    switch value {
    case .null: .null
    case .boolean(let value): .truth(value)
    case .number(let value, let written):
      Int64(written).map { whole in Int32(exactly: whole).map { .int32($0) } ?? .int64(whole) }
        ?? .float64(value)
    case .string(let text): text.utf8.contains(0) ? nil : .string(text)
    case .array, .object: nil
    }
  }
}
