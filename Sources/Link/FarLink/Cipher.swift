// SPDX-License-Identifier: GPL-2.0-or-later

/// A key, a secret, a public half or a hash: 32 bytes. Its description does not reveal these bytes.
public struct FarKey: Sendable, BitwiseCopyable, CustomStringConvertible {
  package var storage = InlineArray<32, UInt8>(repeating: 0)

  public static var size: Int { 32 }

  /// Makes a key of 32 bytes. Returns nil if `bytes` has another number of bytes.
  public init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == FarKey.size else { return nil }
    for (place, byte) in bytes.enumerated() { storage[place] = byte }
  }

  init(using random: inout some RandomNumberGenerator) {
    for place in 0..<FarKey.size { storage[place] = UInt8.random(in: .min ... .max, using: &random) }
  }

  public var bytes: [UInt8] { (0..<FarKey.size).map { storage[$0] } }

  public var description: String { "a key" }
}

/// The cryptographic functions that a `Switchboard` needs, with the names that Noise uses: 25519, ChaChaPoly,
/// SHA256. A cipher has no state.
public protocol FarCipher: Sendable {
  /// The public half of a secret: X25519 of the base point.
  static func publicHalf(of secret: FarKey) -> FarKey
  /// The secret shared by both sides, from one side's secret and the other's public half. Returns nil if that
  /// half gives the same result for every secret.
  static func shared(_ secret: FarKey, with publicHalf: FarKey) -> FarKey?
  /// The SHA-256 hash of some bytes.
  static func hash(_ bytes: [UInt8]) -> FarKey
  /// The HMAC-SHA-256 of some bytes. It reveals nothing about `key`.
  static func hmac(_ bytes: [UInt8], key: FarKey) -> FarKey
  /// Seals `plain`, which grows by `FarLimits.tag`, and binds it to `header`, the associated data. The nonce
  /// is four zero bytes and `number`, least significant byte first. Never use a number twice with one key.
  static func seal(_ plain: [UInt8], _ key: FarKey, number: UInt64, header: [UInt8]) -> [UInt8]
  /// Opens a sealed text. Returns nil if `sealed` was not made with this key, number and header.
  static func open(_ sealed: [UInt8], _ key: FarKey, number: UInt64, header: [UInt8]) -> [UInt8]?
}
