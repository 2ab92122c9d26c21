// SPDX-License-Identifier: GPL-2.0-or-later

/// A generator whose numbers cannot be predicted without the secret, even from all earlier numbers
/// (SipHash-2-4 of a counter).
///
/// `Dice` is not enough: receivers see the echoes that we draw. Two echoes would reveal the state of `Dice`,
/// and with it the echoes for other receivers.
struct SecretDice: RandomNumberGenerator, Sendable {
  private let key: (UInt64, UInt64)
  private var count: UInt64 = 0

  init(_ secret: (UInt64, UInt64)) {
    key = secret
  }

  mutating func next() -> UInt64 {
    count &+= 1
    return SecretDice.hash(count, key)
  }

  /// SipHash-2-4 of one word of eight bytes, the least significant first.
  static func hash(_ word: UInt64, _ key: (UInt64, UInt64)) -> UInt64 {
    var state = SIMD4<UInt64>(
      key.0 ^ 0x736f_6d65_7073_6575, key.1 ^ 0x646f_7261_6e64_6f6d, key.0 ^ 0x6c79_6765_6e65_7261,
      key.1 ^ 0x7465_6462_7974_6573)
    absorb(word, into: &state)
    absorb(8 << 56, into: &state)  // the length of the message, in the last block
    state.z ^= 0xff
    for _ in 0..<4 { mix(&state) }
    return state.x ^ state.y ^ state.z ^ state.w
  }

  private static func absorb(_ word: UInt64, into state: inout SIMD4<UInt64>) {
    state.w ^= word
    mix(&state)
    mix(&state)
    state.x ^= word
  }

  private static func mix(_ state: inout SIMD4<UInt64>) {
    func turned(_ value: UInt64, _ bits: UInt64) -> UInt64 { value << bits | value >> (64 - bits) }
    state.x &+= state.y
    state.y = turned(state.y, 13) ^ state.x
    state.x = turned(state.x, 32)
    state.z &+= state.w
    state.w = turned(state.w, 16) ^ state.z
    state.x &+= state.w
    state.w = turned(state.w, 21) ^ state.x
    state.z &+= state.y
    state.y = turned(state.y, 17) ^ state.z
    state.z = turned(state.z, 32)
  }
}
