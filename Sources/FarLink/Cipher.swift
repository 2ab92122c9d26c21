// SPDX-License-Identifier: GPL-2.0-or-later

/// 32 bytes that nobody else should know. It does not say what it is when it is printed.
public struct FarKey: Sendable, BitwiseCopyable, CustomStringConvertible {
  package var storage = InlineArray<32, UInt8>(repeating: 0)

  public static var size: Int { 32 }

  /// nil: these are not 32 bytes.
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

/// The arithmetic that a `Switchboard` needs. It keeps nothing, and is the same on both sides.
public protocol FarCipher: Sendable {
  static func publicHalf(of secret: FarKey) -> FarKey
  /// What both sides get from their own secret and the other's public half; nil: the other half gives everybody the same.
  static func shared(_ secret: FarKey, with publicHalf: FarKey) -> FarKey?
  /// A key that tells nothing of `key`, for one purpose.
  static func derive(_ text: [UInt8], from key: FarKey) -> FarKey
  /// Longer than `plain` by `FarLimits.tag`. No number may be used twice with one key.
  static func seal(_ plain: [UInt8], _ key: FarKey, number: UInt64, header: [UInt8]) -> [UInt8]
  /// nil: it was not sealed so, or not with this header.
  static func open(_ sealed: [UInt8], _ key: FarKey, number: UInt64, header: [UInt8]) -> [UInt8]?
}
