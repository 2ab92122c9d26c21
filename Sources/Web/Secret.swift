// SPDX-License-Identifier: GPL-2.0-or-later

/// What pairs a browser with us: a code that people see, scan or type, and the token that a paired browser shows from then
/// on. Both are new at once.
///
/// The code has 80 bits: anyone who tries a thousand codes a second needs ten thousand times the age of the earth. It is written as
/// Crockford's base 32, in which nothing looks like anything else.
public struct Secret: Hashable, Sendable {
  /// Letters of five bits each.
  static let codeLetters = 16
  static let tokenLetters = 32

  /// As it is in the address: letters without hyphens.
  public let code: String
  public let token: String

  public init(using chance: inout some RandomNumberGenerator) {
    code = Self.letters(Self.codeLetters, using: &chance)
    token = Self.letters(Self.tokenLetters, using: &chance)
  }

  /// As it was written down. nil: that was not written by us.
  public init?(code: String, token: String) {
    guard let code = Self.canonical(code.utf8), code.count == Self.codeLetters,
      let token = Self.canonical(token.utf8), token.count == Self.tokenLetters
    else { return nil }
    (self.code, self.token) = (String(decoding: code, as: UTF8.self), String(decoding: token, as: UTF8.self))
  }

  static let cookies = "tactus-"
  /// A browser shows its cookies to every port of a machine. So each secret's has a name of its own, and who pairs with somebody
  /// else's tactus there stays paired with this one. The name says no more than the cookie does.
  var cookie: String { Self.cookies + token.prefix(6) }

  /// As people read it: in groups of four.
  public var groups: String {
    stride(from: 0, to: Self.codeLetters, by: 4).map { start in
      let from = code.utf8.index(code.utf8.startIndex, offsetBy: start)
      return String(code[from..<code.utf8.index(from, offsetBy: 4)])
    }.joined(separator: "-")
  }

  private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

  private static func letters(_ count: Int, using chance: inout some RandomNumberGenerator) -> String {
    String(decoding: (0..<count).map { _ in alphabet[Int(chance.next() as UInt64 >> 59)] }, as: UTF8.self)
  }

  /// What somebody typed, as it is meant: big letters, 0 for O, 1 for I and L, without hyphens and spaces. nil: another letter, or
  /// far too many.
  static func canonical(_ typed: some Collection<UInt8>) -> [UInt8]? {
    guard typed.count <= 2 * tokenLetters else { return nil }
    var letters: [UInt8] = []
    for byte in typed {
      switch byte {
      case UInt8(ascii: "-"), UInt8(ascii: " "), UInt8(ascii: "\r"), UInt8(ascii: "\n"): continue
      default:
        guard let letter = meant(byte) else { return nil }
        letters.append(letter)
      }
    }
    return letters
  }

  private static func meant(_ byte: UInt8) -> UInt8? {
    let big = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) ? byte - 32 : byte
    switch big {
    case UInt8(ascii: "O"): return UInt8(ascii: "0")
    case UInt8(ascii: "I"), UInt8(ascii: "L"): return UInt8(ascii: "1")
    default: return alphabet.contains(big) ? big : nil
    }
  }
}

extension Sequence<UInt8> {
  /// In a time that says nothing about where they differ, only whether they are as long.
  func equals(_ other: some Sequence<UInt8>) -> Bool {
    let (mine, others) = (Array(self), Array(other))
    guard mine.count == others.count else { return false }
    return zip(mine, others).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
