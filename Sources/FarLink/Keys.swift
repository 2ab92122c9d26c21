// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// The result of a handshake: a key for each direction, with the numbers that were sent and received.
struct Keys: Sendable {
  let born: Micros
  /// The index by which we find these keys in the other side's datagrams; ours carry `theirIndex`.
  let ourIndex: UInt32
  private let theirIndex: UInt32
  private let sealing: FarKey
  private let opening: FarKey
  /// Whether our call made them. Only the caller renews keys early, so that two sides that call each other do
  /// not both do it.
  let areWeCaller: Bool
  private(set) var sent: UInt64 = 0
  private(set) var window = ReplayWindow()

  /// The two halves bind the keys to this handshake, the introductions to these two programs.
  init(
    _ handshake: Handshake, shared: FarKey, key: FarKey, areWeCaller: Bool, at now: Micros,
    by cipher: any FarCipher.Type
  ) {
    let text =
      handshake.callerHalf.bytes + handshake.acceptorHalf.bytes + shared.bytes
      + handshake.caller.bytes + handshake.acceptor.bytes
    let there = cipher.derive(Purpose.there.bytes + text, from: key)
    let back = cipher.derive(Purpose.back.bytes + text, from: key)
    born = now
    self.areWeCaller = areWeCaller
    ourIndex = areWeCaller ? handshake.caller.index : handshake.acceptor.index
    theirIndex = areWeCaller ? handshake.acceptor.index : handshake.caller.index
    sealing = areWeCaller ? there : back
    opening = areWeCaller ? back : there
  }

  var isSpent: Bool { sent >= FarLimits.lastNumber }
  /// When to make new keys.
  var renewal: Micros {
    guard sent < FarLimits.renewalNumber else { return born }
    return born + (areWeCaller ? FarLimits.renewal : FarLimits.lateRenewal)
  }
  func isDead(at now: Micros) -> Bool { now - born >= FarLimits.keyLife }

  /// Returns nil if these keys have sealed as many datagrams as they may.
  mutating func seal(_ plain: [UInt8], by cipher: any FarCipher.Type) -> [UInt8]? {
    guard !isSpent else { return nil }
    sent += 1
    var datagram = Datagram.SealedPayload(index: theirIndex, number: sent, sealed: [])
    datagram.sealed = cipher.seal(plain, sealing, number: sent, header: datagram.header)
    return datagram.bytes
  }

  enum Opened {
    /// `isNewest`: newer than all before; false if it was overtaken.
    case plain([UInt8], isNewest: Bool)
    case replayed, forged
  }

  mutating func open(_ datagram: Datagram.SealedPayload, by cipher: any FarCipher.Type) -> Opened {
    guard datagram.number <= FarLimits.lastNumber, window.isNew(datagram.number) else { return .replayed }
    guard
      let plain = cipher.open(
        datagram.sealed, opening, number: datagram.number, header: datagram.header)
    else { return .forged }
    return .plain(plain, isNewest: window.take(datagram.number))
  }

  /// For a test: pretends that this many datagrams were sent.
  package mutating func pretend(sent: UInt64) { self.sent = sent }
}

/// The values that both sides know after a handshake. Without the secrets they do not give the keys.
struct Handshake {
  var callerHalf: FarKey
  var acceptorHalf: FarKey
  var caller: Datagram.Introduction
  var acceptor: Datagram.Introduction
}

/// The purposes of derived keys. If the bytes of the protocol change, change these texts, so that old and new
/// programs refuse each other.
enum Purpose: String {
  case hello = "tactus far wire 1: hello "
  case answer = "tactus far wire 1: answer"
  case there = "tactus far wire 1: there "
  case back = "tactus far wire 1: back  "
  case name = "tactus far wire 1: name  "

  var bytes: [UInt8] { [UInt8](rawValue.utf8) }
}

extension FarKey {
  /// Four letters to compare over the telephone. Equal letters mean equal keys, except for one in a million.
  /// They reveal twenty bits of the stretched key: an attacker can test words against them, but must stretch
  /// each.
  public func name(by cipher: any FarCipher.Type) -> String {
    let alphabet = [Character]("23456789abcdefghjkmnpqrstuvwxyz0")
    return String(
      cipher.derive(Purpose.name.bytes, from: self).bytes.prefix(4).map { alphabet[Int($0 & 31)] })
  }
}

/// The last 1024 numbers: each is accepted once. Older ones are refused.
struct ReplayWindow: Sendable {
  private var words = InlineArray<16, UInt64>(repeating: 0)
  private(set) var highest: UInt64 = 0

  static let size: UInt64 = 1024
  /// The newest of them may still be on their way, and do not count as missing.
  private static let late: UInt64 = 64

  func isNew(_ number: UInt64) -> Bool {
    guard number > 0 else { return false }
    if number > highest { return true }
    return highest - number < ReplayWindow.size && !contains(number)
  }

  /// Marks a number that `isNew`. Returns whether it is the highest so far.
  mutating func take(_ number: UInt64) -> Bool {
    let isHighest = number > highest
    if isHighest {
      if number - highest >= ReplayWindow.size {
        words = InlineArray(repeating: 0)
      } else {
        for skipped in highest + 1..<number { set(skipped, to: false) }
      }
      highest = number
    }
    set(number, to: true)
    return isHighest
  }

  /// The missing part of the expected numbers; nil if too few were sent.
  var loss: Double? {
    guard highest >= 4 * ReplayWindow.late else { return nil }
    let numbers = max(1, highest &- min(highest, ReplayWindow.size) + 1)...highest - ReplayWindow.late
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
