// SPDX-License-Identifier: GPL-2.0-or-later
internal import CTactusSodium
public import FarLink

/// A key as users write it: words or letters that are typed in both rooms.
///
/// An attacker who records one hello can test keys offline without limit. Argon2id makes each test cost 64 MB
/// and a tenth of a second, and short keys are refused. The 25 letters of `tactus far-key` are 125 bits:
/// too many keys to try. A key that a user invents needs twenty letters, which are about four words.
public struct KeyText: Sendable {
  public enum Refusal: Error, Hashable, Sendable {
    /// Fewer letters and digits than `least`.
    case tooShort(least: Int)
    /// Too few different letters, as in `aaaa...`.
    case tooEven
    case tooLong(most: Int)
    /// Argon2id did not get its 64 MB.
    case noMemory
  }

  public static let least = 20
  static let leastDifferent = 8
  static let most = 1024

  /// The text as it can be dictated over the telephone: in small letters, with one hyphen for each separator.
  let text: [UInt8]

  public init(_ typed: some StringProtocol) throws(Refusal) {
    let separators: Set<Character> = [" ", "\t", "-", "_", "\n", "\r", "\r\n"]
    guard typed.utf8.count <= KeyText.most else { throw .tooLong(most: KeyText.most) }
    let words = String(typed.map(KeyText.composed)).lowercased().split(whereSeparator: separators.contains)
    let letters = words.joined()
    guard letters.count >= KeyText.least else { throw .tooShort(least: KeyText.least) }
    guard Set(letters).count >= KeyText.leastDifferent else { throw .tooEven }
    text = [UInt8](words.joined(separator: "-").utf8)
  }

  /// The letter and its accent as one Unicode scalar, if there is such a scalar. Some keyboards write "e" and
  /// an accent, others "é", and both look the same.
  private static func composed(_ letter: Character) -> Character {
    letter.unicodeScalars.count == 1 ? letter : accented[letter] ?? letter
  }

  /// The Latin, Greek and Cyrillic letters. A Swift dictionary finds an accented letter even if its accent is
  /// a separate scalar.
  private static let accented: [Character: Character] = {
    let ranges: [ClosedRange<UInt32>] = [0xC0...0x24F, 0x370...0x4FF, 0x1E00...0x1FFF]
    let letters = ranges.flatMap { $0.compactMap(Unicode.Scalar.init).map(Character.init) }
    return Dictionary(letters.map { ($0, $0) }) { first, _ in first }
  }()

  /// The text of the key as it is written into a file.
  public var written: String { String(decoding: text, as: UTF8.self) }

  /// Draws a new key text: five groups of five letters and digits, without those that are easily confused.
  public static func drawn() -> String {
    _ = Sodium.isReady
    let alphabet = [Character]("23456789abcdefghjkmnpqrstuvwxyz0")
    let groups = (0..<5).map { _ in
      String((0..<5).map { _ in alphabet[Int(randombytes_uniform(UInt32(alphabet.count)))] })
    }
    return groups.joined(separator: "-")
  }

  /// The key for this text. The computation takes a tenth of a second on purpose.
  public func key() throws(Refusal) -> FarKey {
    _ = Sodium.isReady
    // Both sides must use the same salt, so it cannot be random.
    let salt = [UInt8]("tactus far key 1".utf8)
    var bytes = [UInt8](repeating: 0, count: FarKey.size)
    let result = text.withUnsafeBytes { text in
      crypto_pwhash(
        &bytes, UInt64(bytes.count), text.baseAddress!.assumingMemoryBound(to: CChar.self),
        UInt64(text.count), salt,
        UInt64(crypto_pwhash_argon2id_OPSLIMIT_INTERACTIVE), Int(crypto_pwhash_argon2id_MEMLIMIT_INTERACTIVE),
        crypto_pwhash_argon2id_ALG_ARGON2ID13)
    }
    guard result == 0, let key = FarKey(bytes) else { throw .noMemory }
    return key
  }
}

extension FarKey {
  /// The public key for a network that is already private, such as a VPN: any program that can reach us is
  /// trusted. This key is the same in every room.
  public static var ofNobody: FarKey { Sodium.hash([UInt8]("tactus far wire 2: no key".utf8)) }
}
