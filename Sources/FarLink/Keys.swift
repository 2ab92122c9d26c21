// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// What one handshake made: two keys, one for each direction, with the numbers of what was sent and heard under them.
struct Keys: Sendable {
  let born: Micros
  /// The other side writes this so that we find these keys, and we write theirs.
  let ourIndex: UInt32
  private let theirIndex: UInt32
  private let sealing: FarKey
  private let opening: FarKey
  /// Whose call made them. Only the caller renews them in time, so that two that call each other do not do so at once.
  let areWeCaller: Bool
  private(set) var sent: UInt64 = 0
  private(set) var window = ReplayWindow()

  /// The two halves tie the keys to this one handshake, the names to these two programs.
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
  /// When there should be new ones.
  var renewal: Micros {
    guard sent < FarLimits.renewalNumber else { return born }
    return born + (areWeCaller ? FarLimits.renewal : FarLimits.lateRenewal)
  }
  func isDead(at now: Micros) -> Bool { now - born >= FarLimits.keyLife }

  /// nil: these keys have sealed as much as they may.
  mutating func seal(_ plain: [UInt8], by cipher: any FarCipher.Type) -> [UInt8]? {
    guard !isSpent else { return nil }
    sent += 1
    var datagram = Datagram.SealedPayload(index: theirIndex, number: sent, sealed: [])
    datagram.sealed = cipher.seal(plain, sealing, number: sent, header: datagram.header)
    return datagram.bytes
  }

  enum Opened {
    /// Newer than all before, or one that was overtaken.
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

  /// For a test that cannot wait for it: as if so many had been sent.
  package mutating func pretend(sent: UInt64) { self.sent = sent }
}

/// Both sides know all of it, and nobody else the keys that it makes.
struct Handshake {
  var callerHalf: FarKey
  var acceptorHalf: FarKey
  var caller: Datagram.Introduction
  var acceptor: Datagram.Introduction
}

/// What a key is derived for. A change of the bytes on the wire changes these words, so that old and new do not understand each other by half.
enum Purpose: String {
  case hello = "tactus far wire 1: hello "
  case answer = "tactus far wire 1: answer"
  case there = "tactus far wire 1: there "
  case back = "tactus far wire 1: back  "
  case name = "tactus far wire 1: name  "

  var bytes: [UInt8] { [UInt8](rawValue.utf8) }
}

extension FarKey {
  /// Four letters to compare over the telephone: two keys that have the same are the same, but for one in a million. They tell twenty bits of what
  /// the key was stretched to, and who would try words by them has to stretch each.
  public func name(by cipher: any FarCipher.Type) -> String {
    let alphabet = [Character]("23456789abcdefghjkmnpqrstuvwxyz0")
    return String(
      cipher.derive(Purpose.name.bytes, from: self).bytes.prefix(4).map { alphabet[Int($0 & 31)] })
  }
}

/// Which numbers have come, of the last 1024: each is taken once. What is older is taken never.
struct ReplayWindow: Sendable {
  private var words = InlineArray<16, UInt64>(repeating: 0)
  private(set) var highest: UInt64 = 0

  static let size: UInt64 = 1024
  /// The newest of them may still be on their way: they are not missing yet.
  private static let late: UInt64 = 64

  func isNew(_ number: UInt64) -> Bool {
    guard number > 0 else { return false }
    if number > highest { return true }
    return highest - number < ReplayWindow.size && !contains(number)
  }

  /// Whether it is the highest so far. Only for one that `isNew`.
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

  /// What part of those that should have come is missing; nil: too few were sent to say so.
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
