// SPDX-License-Identifier: GPL-2.0-or-later
internal import CSodium
public import FarLink

/// libsodium as the cipher of a far wire, and how people hold its keys.
///
/// XChaCha20-Poly1305 seals, X25519 makes the secret of a handshake, BLAKE2b derives keys, Argon2id stretches what people type
/// (`FarKey.init(typed:)`). It lacks a protocol on purpose: who talks to whom, and under which number, is `FarLink`'s.
///
/// The invariant: every function is total; what does not fit opens to nil.
///
/// The way in: `Sodium`, what `FarLink` asks for; `KeyFile`, what the user has.
public enum Sodium: FarCipher {
  /// libsodium looks for what this processor can do, once. Without it all of it works, more slowly; -1 is said only where there is no source of chance.
  static let isReady = sodium_init() >= 0

  public static func publicHalf(of secret: FarKey) -> FarKey {
    made { out in secret.read { _ = crypto_scalarmult_curve25519_base(out, $0) } }
  }

  public static func shared(_ secret: FarKey, with publicHalf: FarKey) -> FarKey? {
    var result: Int32 = -1
    let key = made { out in
      secret.read { secret in
        publicHalf.read { result = crypto_scalarmult_curve25519(out, secret, $0) }
      }
    }
    return result == 0 ? key : nil
  }

  public static func derive(_ text: [UInt8], from key: FarKey) -> FarKey {
    made { out in
      key.read { _ = crypto_generichash(out, FarKey.size, text, UInt64(text.count), $0, FarKey.size) }
    }
  }

  public static func seal(_ plain: [UInt8], _ key: FarKey, number: UInt64, header: [UInt8]) -> [UInt8] {
    let nonce = nonce(number)
    return [UInt8](unsafeUninitializedCapacity: plain.count + FarLimits.tag) { out, count in
      key.read {
        _ = crypto_aead_xchacha20poly1305_ietf_encrypt(
          out.baseAddress!, nil, plain, UInt64(plain.count), header, UInt64(header.count), nil, nonce, $0)
      }
      count = plain.count + FarLimits.tag
    }
  }

  public static func open(_ sealed: [UInt8], _ key: FarKey, number: UInt64, header: [UInt8]) -> [UInt8]? {
    guard sealed.count >= FarLimits.tag else { return nil }
    let nonce = nonce(number)
    var result: Int32 = -1
    let plain = [UInt8](unsafeUninitializedCapacity: sealed.count) { out, count in
      key.read {
        result = crypto_aead_xchacha20poly1305_ietf_decrypt(
          out.baseAddress!, nil, nil, sealed, UInt64(sealed.count), header, UInt64(header.count), nonce, $0)
      }
      count = result == 0 ? sealed.count - FarLimits.tag : 0
    }
    return result == 0 ? plain : nil
  }

  /// No key seals two datagrams under one number, so the number alone will do; the rest of 24 bytes is empty.
  private static func nonce(_ number: UInt64) -> [UInt8] {
    [UInt8](repeating: 0, count: 16) + withUnsafeBytes(of: number.littleEndian) { [UInt8]($0) }
  }

  private static func made(_ fill: (UnsafeMutablePointer<UInt8>) -> Void) -> FarKey {
    _ = isReady
    var bytes = [UInt8](repeating: 0, count: FarKey.size)
    bytes.withUnsafeMutableBufferPointer { fill($0.baseAddress!) }
    return FarKey(bytes)!
  }
}

extension FarKey {
  func read(_ body: (UnsafePointer<UInt8>) -> Void) {
    bytes.withUnsafeBufferPointer { body($0.baseAddress!) }
  }

  public static func == (left: FarKey, right: FarKey) -> Bool {
    var isSame = false
    left.read { left in right.read { isSame = sodium_memcmp(left, $0, FarKey.size) == 0 } }
    return isSame
  }
}
