// SPDX-License-Identifier: GPL-2.0-or-later
import TactusJSON5
import TactusOSC

/// An OSC message as a line of JSON: `["/tactus/tempo", 128]`. Strict, total on every input, and bounded by
/// what it is given.
enum JSONLine {
  /// The maximum number of arguments in a packet.
  static let argumentLimit = 64

  struct Fault: Error, Equatable {
    let words: String
    /// Empty if the address is not known.
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
    // Shortest digits that identify the float: 0.1, not 0.10000000149.
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
    var reader = Reader(bytes: Array(line))
    return try reader.message()
  }

  private struct Reader {
    let bytes: [UInt8]
    var at = 0

    private var next: UInt8? { at < bytes.count ? bytes[at] : nil }

    private mutating func skipSpace() {
      while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0d || byte == 0x0a { at += 1 }
    }

    private mutating func take(_ byte: Unicode.Scalar) -> Bool {
      guard next == UInt8(ascii: byte) else { return false }
      at += 1
      return true
    }

    mutating func message() throws(Fault) -> Message {
      skipSpace()
      guard take("[") else { throw Fault(words: "a line is a list: [\"/tactus/tempo\", 128]") }
      skipSpace()
      guard next == UInt8(ascii: "\"") else {
        throw Fault(words: "a line begins with an address: [\"/tactus/tempo\", 128]")
      }
      let address = try string()
      guard address.utf8.first == UInt8(ascii: "/"), address.utf8.count <= PacketCheck.addressLimit,
        address.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
      else {
        throw Fault(
          words: "an address is / and at most \(PacketCheck.addressLimit) printable letters", address: address
        )
      }
      do throws(Fault) {
        return Message(address, arguments: try arguments())
      } catch {
        throw Fault(words: error.words, address: address)
      }
    }

    private mutating func arguments() throws(Fault) -> [Argument] {
      var arguments: [Argument] = []
      while true {
        skipSpace()
        if take("]") { break }
        guard take(",") else { throw Fault(words: "a comma or ] is missing") }
        skipSpace()
        guard arguments.count < argumentLimit else {
          throw Fault(words: "at most \(argumentLimit) arguments")
        }
        arguments.append(try argument())
      }
      skipSpace()
      guard next == nil else { throw Fault(words: "one message in a line") }
      return arguments
    }

    private mutating func argument() throws(Fault) -> Argument {
      switch next {
      case UInt8(ascii: "\""): return .string(try string())
      case UInt8(ascii: "t"): return try word("true", .truth(true))
      case UInt8(ascii: "f"): return try word("false", .truth(false))
      case UInt8(ascii: "n"): return try word("null", .null)
      case UInt8(ascii: "-"), .some(0x30...0x39): return try number()
      default: throw Fault(words: "an argument is a number, text, true, false or null")
      }
    }

    private mutating func word(_ word: String, _ meaning: Argument) throws(Fault) -> Argument {
      guard bytes[at...].starts(with: word.utf8) else { throw Fault(words: "do you mean \(word)?") }
      at += word.utf8.count
      return meaning
    }

    private mutating func digits() -> Int {
      let start = at
      while let byte = next, (0x30...0x39).contains(byte) { at += 1 }
      return at - start
    }

    private mutating func number() throws(Fault) -> Argument {
      let fault = Fault(words: "this is no number")
      let start = at
      _ = take("-")
      let first = next
      let whole = digits()
      guard whole > 0, whole == 1 || first != UInt8(ascii: "0") else { throw fault }
      var isWhole = true
      if take(".") {
        isWhole = false
        guard digits() > 0 else { throw fault }
      }
      if take("e") || take("E") {
        isWhole = false
        if !take("-") { _ = take("+") }
        guard digits() > 0 else { throw fault }
      }
      let text = String(decoding: bytes[start..<at], as: UTF8.self)
      if isWhole, let value = Int64(text) {
        return Int32(exactly: value).map { .int32($0) } ?? .int64(value)
      }
      guard let value = Double(text), value.isFinite else { throw fault }
      return .float64(value)
    }

    private mutating func string() throws(Fault) -> String {
      let fault = Fault(words: "a text is not closed, or has characters that JSON does not allow")
      at += 1
      var text: [UInt8] = []
      while let byte = next {
        at += 1
        switch byte {
        case UInt8(ascii: "\""):
          guard let whole = String(validating: text, as: UTF8.self) else { throw fault }
          return whole
        case UInt8(ascii: "\\"): text += Array(String(try escaped(fault)).utf8)
        case 0..<0x20: throw fault
        default: text.append(byte)
        }
      }
      throw fault
    }

    private mutating func escaped(_ fault: Fault) throws(Fault) -> Unicode.Scalar {
      guard let byte = next else { throw fault }
      at += 1
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
      case UInt8(ascii: "b"): return "\u{8}"
      case UInt8(ascii: "f"): return "\u{c}"
      case UInt8(ascii: "n"): return "\n"
      case UInt8(ascii: "r"): return "\r"
      case UInt8(ascii: "t"): return "\t"
      case UInt8(ascii: "u"):
        var value = try hexadecimal(fault)
        if (0xd800..<0xdc00).contains(value) {
          guard take("\\"), take("u") else { throw fault }
          let low = try hexadecimal(fault)
          guard (0xdc00..<0xe000).contains(low) else { throw fault }
          value = 0x10000 + (value - 0xd800) << 10 + (low - 0xdc00)
        }
        // An OSC text ends at its first zero.
        guard value != 0, let scalar = Unicode.Scalar(value) else { throw fault }
        return scalar
      default: throw fault
      }
    }

    private mutating func hexadecimal(_ fault: Fault) throws(Fault) -> UInt32 {
      guard bytes.count - at >= 4 else { throw fault }
      var value: UInt32 = 0
      for byte in bytes[at..<at + 4] {
        guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else { throw fault }
        value = value << 4 | UInt32(digit)
      }
      at += 4
      return value
    }
  }
}
