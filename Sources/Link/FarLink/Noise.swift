// SPDX-License-Identifier: GPL-2.0-or-later

// The handshake `Noise_NNpsk0_25519_ChaChaPoly_SHA256` of the Noise protocol framework, revision 34
// (https://noiseprotocol.org/noise.html):
//
//   -> psk, e
//   <- e, ee
//
// The caller is the initiator. Each message is the sender's public half (`e`) and a sealed payload. Names of
// the specification are in backquotes.

/// A message of the handshake: `e`, then the sealed payload.
struct HandshakeMessage: Sendable {
  let half: FarKey
  let sealed: [UInt8]

  var bytes: [UInt8] { half.bytes + sealed }

  init(half: FarKey, sealed: [UInt8]) {
    self.half = half
    self.sealed = sealed
  }

  /// Returns nil if the bytes are too few for `e`.
  init?(_ bytes: some Collection<UInt8>) {
    guard let half = FarKey(bytes.prefix(FarKey.size)) else { return nil }
    self.init(half: half, sealed: [UInt8](bytes.dropFirst(FarKey.size)))
  }
}

/// The symmetric state of a handshake: `ck`, `h` and `k` (section 5.2).
///
/// In NNpsk0 each key seals one payload, then the next key replaces it. So `n` is always 0 and is not stored.
struct SymmetricState: Sendable {
  fileprivate let cipher: any FarCipher.Type
  private var chainingKey: FarKey
  private(set) var hash: FarKey
  private var key: FarKey

  /// `Initialize` up to and including the token `psk`. The result is the same for all handshakes of both
  /// sides.
  init(prologue: [UInt8], psk: FarKey, cipher: any FarCipher.Type) {
    self.cipher = cipher
    // `InitializeSymmetric`: the name is longer than a hash, so `h` begins as its hash.
    let name = cipher.hash([UInt8]("Noise_NNpsk0_25519_ChaChaPoly_SHA256".utf8))
    hash = cipher.hash(name.bytes + prologue)
    // The function `MixKeyAndHash` of the specification, with the pre-shared key.
    let made = SymmetricState.derive(psk.bytes, from: name, outputs: 3, by: cipher)
    chainingKey = made[0]
    hash = cipher.hash(hash.bytes + made[1].bytes)
    key = made[2]
  }

  mutating func mixHash(_ bytes: [UInt8]) { hash = cipher.hash(hash.bytes + bytes) }

  mutating func mixKey(_ material: FarKey) {
    let made = SymmetricState.derive(material.bytes, from: chainingKey, outputs: 2, by: cipher)
    (chainingKey, key) = (made[0], made[1])
  }

  /// The token `e`. In a handshake with a pre-shared key, the public half also goes into the key (section
  /// 9.2), so that no two handshakes seal with the same key.
  mutating func mix(ephemeral half: FarKey) {
    mixHash(half.bytes)
    mixKey(half)
  }

  mutating func encryptAndHash(_ plain: [UInt8]) -> [UInt8] {
    let sealed = cipher.seal(plain, key, number: 0, header: hash.bytes)
    mixHash(sealed)
    return sealed
  }

  mutating func decryptAndHash(_ sealed: [UInt8]) -> [UInt8]? {
    guard let plain = cipher.open(sealed, key, number: 0, header: hash.bytes) else { return nil }
    mixHash(sealed)
    return plain
  }

  /// The keys of the two cipher states: from the caller (`there`) and to it (`back`).
  func split() -> (there: FarKey, back: FarKey) {
    let made = SymmetricState.derive([], from: chainingKey, outputs: 2, by: cipher)
    return (made[0], made[1])
  }

  /// The function `HKDF` of the specification (section 4.3).
  private static func derive(
    _ material: [UInt8], from chainingKey: FarKey, outputs: Int, by cipher: any FarCipher.Type
  ) -> [FarKey] {
    let temporary = cipher.hmac(material, key: chainingKey)
    var made: [FarKey] = []
    for number in 1...outputs {
      made.append(cipher.hmac((made.last?.bytes ?? []) + [UInt8(number)], key: temporary))
    }
    return made
  }
}

/// The caller's state of a handshake, after the caller has sent its message.
struct CallerHandshake: Sendable {
  let half: FarKey
  private let secret: FarKey
  private let state: SymmetricState

  /// Begins a handshake with the caller's message. Never use a secret for two handshakes.
  static func begin(from start: SymmetricState, secret: FarKey, payload: [UInt8])
    -> (handshake: CallerHandshake, hello: HandshakeMessage)
  {
    var state = start
    let half = state.cipher.publicHalf(of: secret)
    state.mix(ephemeral: half)
    let hello = HandshakeMessage(half: half, sealed: state.encryptAndHash(payload))
    return (CallerHandshake(half: half, secret: secret, state: state), hello)
  }

  /// Returns nil if the answer was not made with our key, for our message. After such an answer, the true
  /// answer can still be read.
  func read(_ answer: HandshakeMessage) -> (payload: [UInt8], state: SymmetricState)? {
    var state = state
    state.mix(ephemeral: answer.half)
    guard let shared = state.cipher.shared(secret, with: answer.half) else { return nil }
    state.mixKey(shared)
    guard let payload = state.decryptAndHash(answer.sealed) else { return nil }
    return (payload, state)
  }
}

/// The called side's state of a handshake, after the caller's message has come.
struct CalledHandshake: Sendable {
  let payload: [UInt8]
  private let theirHalf: FarKey
  private let state: SymmetricState

  /// Returns nil if the message was not made with our key.
  init?(from start: SymmetricState, reading hello: HandshakeMessage) {
    var state = start
    state.mix(ephemeral: hello.half)
    guard let payload = state.decryptAndHash(hello.sealed) else { return nil }
    self.payload = payload
    theirHalf = hello.half
    self.state = state
  }

  /// Makes the answer. Never use a secret for two handshakes. Returns nil if the caller's half gives everyone
  /// the same secret.
  func answer(_ payload: [UInt8], secret: FarKey) -> (answer: HandshakeMessage, state: SymmetricState)? {
    var state = state
    let half = state.cipher.publicHalf(of: secret)
    state.mix(ephemeral: half)
    guard let shared = state.cipher.shared(secret, with: theirHalf) else { return nil }
    state.mixKey(shared)
    return (HandshakeMessage(half: half, sealed: state.encryptAndHash(payload)), state)
  }
}
