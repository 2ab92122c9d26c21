// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAddresses
import LinkBeatMath
import LinkSodium
import Testing

@testable import FarLink

/// The handshake must be that of Noise NNpsk0, as it is published.
struct NoiseTests {
  private static func bytes(_ hex: String) -> [UInt8] {
    let digits = hex.map { UInt8($0.hexDigitValue!) }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }

  private static func key(_ hex: String) -> FarKey { FarKey(bytes(hex))! }

  private static let messages = NoiseVector.messages.map {
    (payload: bytes($0.payload), bytes: bytes($0.bytes))
  }

  /// The two messages of the handshake.
  private static let hello = HandshakeMessage(messages[0].bytes)!
  private static let answer = HandshakeMessage(messages[1].bytes)!

  private static let start = SymmetricState(
    prologue: bytes(NoiseVector.prologue), psk: key(NoiseVector.key), cipher: Sodium.self)

  /// Runs the handshake of the published vector. Returns the state of both sides.
  private static func handshake() throws -> (caller: SymmetricState, called: SymmetricState) {
    let (calling, hello) = CallerHandshake.begin(
      from: start, secret: key(NoiseVector.callerSecret), payload: messages[0].payload)
    #expect(hello.bytes == messages[0].bytes)
    let called = try #require(CalledHandshake(from: start, reading: self.hello))
    #expect(called.payload == messages[0].payload)
    let (answer, there) = try #require(
      called.answer(messages[1].payload, secret: key(NoiseVector.calledSecret)))
    #expect(answer.bytes == messages[1].bytes)
    let (payload, here) = try #require(calling.read(self.answer))
    #expect(payload == messages[1].payload)
    return (here, there)
  }

  @Test func `the handshake has the bytes and hash of the published test vector`() throws {
    let (caller, called) = try NoiseTests.handshake()
    #expect(caller.hash.bytes == NoiseTests.bytes(NoiseVector.handshakeHash))
    #expect(called.hash.bytes == caller.hash.bytes)
  }

  @Test func `sealed datagrams have the bytes of the published test vector`() throws {
    let (caller, called) = try NoiseTests.handshake()
    var sides = [
      Keys(caller, ourIndex: 1, theirIndex: 2, areWeCaller: true, at: .zero),
      Keys(called, ourIndex: 2, theirIndex: 1, areWeCaller: false, at: .zero),
    ]
    for (number, message) in NoiseTests.messages.dropFirst(2).enumerated() {
      let datagram = sides[number % 2].seal(message.payload, by: Sodium.self)
      let index = UInt32(2 - number % 2)
      #expect(datagram == [3] + index.bigEndianBytes + UInt64(number / 2).bigEndianBytes + message.bytes)
      let sealed = Datagram.SealedPayload(index: index, number: UInt64(number / 2), sealed: message.bytes)
      guard case .plain(let plain, true) = sides[1 - number % 2].open(sealed, by: Sodium.self) else {
        Issue.record("message \(number) was not opened")
        continue
      }
      #expect(plain == message.payload)
    }
  }

  @Test func `no handshake message can be opened with another key or prologue`() {
    let prologue = NoiseTests.bytes(NoiseVector.prologue)
    for other in [
      SymmetricState(prologue: prologue, psk: FarWorld.anotherKey, cipher: Sodium.self),
      SymmetricState(prologue: prologue + [0], psk: NoiseTests.key(NoiseVector.key), cipher: Sodium.self),
    ] {
      #expect(CalledHandshake(from: other, reading: NoiseTests.hello) == nil)
      let (calling, _) = CallerHandshake.begin(
        from: other, secret: NoiseTests.key(NoiseVector.callerSecret), payload: NoiseTests.messages[0].payload
      )
      #expect(calling.read(NoiseTests.answer) == nil)
    }
  }

  @Test func `a call's answer opens only with the payload and secret of that call`() {
    let secret = NoiseTests.key(NoiseVector.callerSecret)
    let (another, _) = CallerHandshake.begin(from: NoiseTests.start, secret: secret, payload: [1])
    #expect(another.read(NoiseTests.answer) == nil)
    let (calling, _) = CallerHandshake.begin(
      from: NoiseTests.start, secret: FarWorld.key, payload: NoiseTests.messages[0].payload)
    #expect(calling.read(NoiseTests.answer) == nil)
  }

  @Test func `forged answers are decrypted at a limited rate and keep no room out`() {
    var world = FarWorld()
    world.add()
    world.add(accepts: true)
    world.call(0, 1)
    world.run(for: Micros(60_000))
    // The attacker reads the index of the answer that is on its way.
    let answer = world.flights.last { $0.bytes[0] == 2 }!
    for number in 0..<10_000 {
      var bytes = answer.bytes
      bytes[5 + number % 32] ^= 1 << UInt8(number / 32 % 8)
      bytes[64] ^= UInt8(1 + number % 255)
      world.inject(bytes, into: 0, from: answer.from)
    }
    let counters = world.sides[0].board.counters
    #expect(counters.refused == FarLimits.answers)
    #expect(counters.flooded == 10_000 - FarLimits.answers)
    world.run(for: Micros(2_000_000))
    #expect(world.isProven(0) && world.isProven(1))
  }
}
