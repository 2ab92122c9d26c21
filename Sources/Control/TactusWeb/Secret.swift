// SPDX-License-Identifier: GPL-2.0-or-later

/// The secret that pairs browsers with tactus. It consists of a code that users see, scan or type, and of a
/// token that a paired browser sends with each later request. Both are replaced together.
///
/// The code has 80 bits: trying a thousand codes a second takes ten thousand times the age of the earth. It
/// is written in Crockford's base 32, which has no letters that look alike.
public struct Secret: Hashable, Sendable {
  /// The number of letters in the code; each letter has five bits.
  static let codeLetters = 16
  static let tokenLetters = 32

  /// The code without hyphens, as it stands in an address.
  public let code: String
  public let token: String

  public init(using chance: inout some RandomNumberGenerator) {
    code = Self.letters(Self.codeLetters, using: &chance)
    token = Self.letters(Self.tokenLetters, using: &chance)
  }

  /// The secret from a file; nil: the texts are no code and token of ours.
  public init?(code: String, token: String) {
    guard let code = Self.canonical(code.utf8), code.count == Self.codeLetters,
      let token = Self.canonical(token.utf8), token.count == Self.tokenLetters
    else { return nil }
    (self.code, self.token) = (String(decoding: code, as: UTF8.self), String(decoding: token, as: UTF8.self))
  }

  static let cookies = "tactus-"
  /// The name of the cookie. A browser sends its cookies to every port of a machine, so each secret has a
  /// cookie name of its own. Otherwise pairing with another user's tactus on the same machine would end the
  /// pairing with this one. The name reveals nothing that the cookie does not.
  var cookie: String { Self.cookies + token.prefix(6) }

  /// The code for people, in groups of four letters.
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

  /// The code that the user meant: capital letters, 0 for O, 1 for I and L, without hyphens and spaces. nil:
  /// it has other letters, or far too many.
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
  /// Compares the texts in a time that depends only on their lengths, so that the time does not reveal the
  /// first difference.
  func equals(_ other: some Sequence<UInt8>) -> Bool {
    let (mine, others) = (Array(self), Array(other))
    guard mine.count == others.count else { return false }
    return zip(mine, others).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
