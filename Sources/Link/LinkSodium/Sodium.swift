// SPDX-License-Identifier: GPL-2.0-or-later
internal import CTactusSodium
public import FarLink

/// libsodium as the cipher between rooms, and the keys as users hold them.
///
/// ChaCha20-Poly1305 seals, X25519 makes the secret of a handshake, SHA-256 and its HMAC derive keys,
/// Argon2id stretches what users type (`KeyText.key()`). There is no protocol here: `FarLink` has the
/// handshake, decides which sides talk, and numbers the datagrams.
///
/// The invariant: every function returns for any input; opening an invalid input gives nil.
///
/// Start reading at `Sodium`, which `FarLink` calls; `KeyFile` is the user's file.
public enum Sodium: FarCipher {
  /// Lets libsodium detect the processor's features, once. Without this call everything works, but more
  /// slowly. The call fails only if the system has no source of randomness.
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

  public static func hash(_ bytes: [UInt8]) -> FarKey {
    made { _ = crypto_hash_sha256($0, bytes, UInt64(bytes.count)) }
  }

  public static func hmac(_ bytes: [UInt8], key: FarKey) -> FarKey {
    made { out in key.read { _ = crypto_auth_hmacsha256(out, bytes, UInt64(bytes.count), $0) } }
  }

  public static func seal(_ plain: [UInt8], _ key: FarKey, number: UInt64, header: [UInt8]) -> [UInt8] {
    let nonce = nonce(number)
    return [UInt8](unsafeUninitializedCapacity: plain.count + FarLimits.tag) { out, count in
      key.read {
        _ = crypto_aead_chacha20poly1305_ietf_encrypt(
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
        result = crypto_aead_chacha20poly1305_ietf_decrypt(
          out.baseAddress!, nil, nil, sealed, UInt64(sealed.count), header, UInt64(header.count), nonce, $0)
      }
      count = result == 0 ? sealed.count - FarLimits.tag : 0
    }
    return result == 0 ? plain : nil
  }

  private static func nonce(_ number: UInt64) -> [UInt8] {
    [UInt8](repeating: 0, count: 4) + withUnsafeBytes(of: number.littleEndian) { [UInt8]($0) }
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
