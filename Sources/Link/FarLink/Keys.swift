// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// The result of a handshake: a key for each direction, with the numbers that were sent and received. These
/// are the two cipher states of Noise. A datagram's number is its nonce.
struct Keys: Sendable {
  let born: Micros
  /// The index in the other side's datagrams, by which we find these keys. Our datagrams carry `theirIndex`.
  let ourIndex: UInt32
  private let theirIndex: UInt32
  private let sealing: FarKey
  private let opening: FarKey
  /// Whether our call made these keys. Only the caller renews keys early, so that of two sides that call each
  /// other only one renews them.
  let areWeCaller: Bool
  private(set) var sent: UInt64 = 0
  private(set) var window = ReplayWindow()

  init(
    _ handshake: SymmetricState, ourIndex: UInt32, theirIndex: UInt32, areWeCaller: Bool, at now: Micros
  ) {
    let (there, back) = handshake.split()
    born = now
    self.areWeCaller = areWeCaller
    self.ourIndex = ourIndex
    self.theirIndex = theirIndex
    sealing = areWeCaller ? there : back
    opening = areWeCaller ? back : there
  }

  var isSpent: Bool { sent >= FarLimits.numbers }
  /// The time at which new keys are due.
  var renewal: Micros {
    guard sent < FarLimits.renewalNumber else { return born }
    return born + (areWeCaller ? FarLimits.renewal : FarLimits.lateRenewal)
  }
  func isDead(at now: Micros) -> Bool { now - born >= FarLimits.keyLife }

  /// Seals bytes into a datagram. Returns nil if these keys have sealed as many datagrams as they may.
  mutating func seal(_ plain: [UInt8], by cipher: any FarCipher.Type) -> [UInt8]? {
    guard !isSpent else { return nil }
    defer { sent += 1 }
    let sealed = cipher.seal(plain, sealing, number: sent, header: [])
    return Datagram.SealedPayload(index: theirIndex, number: sent, sealed: sealed).bytes
  }

  enum Opened {
    /// The bytes of an opened datagram. `isNewest`: no datagram with a higher number came before this one.
    case plain([UInt8], isNewest: Bool)
    case replayed, forged
  }

  mutating func open(_ datagram: Datagram.SealedPayload, by cipher: any FarCipher.Type) -> Opened {
    guard datagram.number < FarLimits.numbers, window.isNew(datagram.number) else { return .replayed }
    guard let plain = cipher.open(datagram.sealed, opening, number: datagram.number, header: []) else {
      return .forged
    }
    return .plain(plain, isNewest: window.admit(datagram.number))
  }

  /// For a test: pretends that this many datagrams were sent.
  package mutating func pretend(sent: UInt64) { self.sent = sent }
}

extension FarKey {
  /// Four letters to compare over the telephone. Equal letters mean equal keys: only one in a million other
  /// keys has the same letters. The letters reveal twenty bits of the stretched key: an attacker can test
  /// guessed words against the letters, but must stretch each guess.
  public func name(by cipher: any FarCipher.Type) -> String {
    let alphabet = [Character]("23456789abcdefghjkmnpqrstuvwxyz0")
    let name = cipher.hmac([UInt8]("tactus far wire 2: name".utf8), key: self)
    return String(name.bytes.prefix(4).map { alphabet[Int($0 & 31)] })
  }
}

/// The last 1024 datagram numbers, and which of them were received. Each number is accepted once; numbers
/// older than the last 1024 are refused.
struct ReplayWindow: Sendable {
  private var words = InlineArray<16, UInt64>(repeating: 0)
  /// The highest datagram number received, plus one.
  private var end: UInt64 = 0

  static let size: UInt64 = 1024
  /// Datagrams with the newest 64 numbers may still be on their way. They do not count as lost.
  private static let late: UInt64 = 64

  func isNew(_ number: UInt64) -> Bool {
    number >= end || end - number <= ReplayWindow.size && !contains(number)
  }

  /// Marks a number as received; `isNew` must be true for it. Returns whether the number is the highest so
  /// far.
  mutating func admit(_ number: UInt64) -> Bool {
    let isHighest = number >= end
    if isHighest {
      if number - end >= ReplayWindow.size {
        words = InlineArray(repeating: 0)
      } else {
        for skipped in end..<number { set(skipped, to: false) }
      }
      end = number + 1
    }
    set(number, to: true)
    return isHighest
  }

  /// The share of the expected datagrams that has not arrived, 0 to 1; nil if too few datagrams were sent.
  var loss: Double? {
    guard end >= 4 * ReplayWindow.late else { return nil }
    let numbers = end - min(end, ReplayWindow.size)..<end - ReplayWindow.late
    let missing = numbers.count { !contains($0) }
    return Double(missing) / Double(numbers.count)
  }

  private func contains(_ number: UInt64) -> Bool {
    let place = number % ReplayWindow.size
    return words[Int(place / 64)] >> (place % 64) & 1 == 1
  }

  private mutating func set(_ number: UInt64, to isSet: Bool) {
    let place = number % ReplayWindow.size
    let bit: UInt64 = 1 << (place % 64)
    if isSet { words[Int(place / 64)] |= bit } else { words[Int(place / 64)] &= ~bit }
  }
}
