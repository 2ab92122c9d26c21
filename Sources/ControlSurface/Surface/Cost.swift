// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import OSC

/// What input may cost the surface's thread, in microseconds, rounded up from what `tools/bench osc` measures. Counted, not
/// timed: the same packet costs the same on every machine and in every test.
///
/// One datagram may cost `datagram` and no more; what is left of it then is refused. All of them together cost a tenth of a
/// core at most.
enum Cost {
  static let datagram = 450
  struct Share {
    let perSecond: Double
    /// What may be saved up for a burst.
    let atOnce: Double
  }

  /// For this machine, those whom the user named, and subscribers.
  static let ours = Share(perSecond: 40_000, atOnce: 14_000)
  static let strangers = Share(perSecond: 20_000, atOnce: 6000)

  /// For keys, knobs and pedals: more than a MIDI cable carries, if each message comes alone.
  static let hands = Share(perSecond: 15_000, atOnce: 6000)

  /// To fetch it and come back.
  static let letter = 40
  /// To obey a plain message, or to tell one value.
  static let message = 4
  /// To look at what a hand did; what it moves costs a message each.
  static let touch = 2
  /// To answer it with one message.
  static let answer = 3
  /// Bytes checked and taken apart in a microsecond.
  static let bytes = 128
  /// To say why not.
  static let refusal = 4
  /// Looking for what a mistyped address may have meant.
  static let suggestion = 150
  /// All values told, or a display cleared.
  static let picture = 120
  static let learning = 60
  /// To make the table again for an output that came or went.
  static let reshaping = 400
  /// To tell one.
  static let binding = 3
  /// To take a pattern apart and begin it at each address.
  static let pattern = 8
  /// Places of a pattern looked at in a microsecond.
  static let patternSteps = 16

  static func telling(_ count: Int) -> Int { 10 + count / 2 }

  /// What a message that is to be obeyed later may cost then; its sender pays before.
  static func later(_ message: Message) -> Int {
    var address = message.address
    return address.withUTF8 { isPlain(UnsafeRawBufferPointer($0)) } ? Self.message : picture
  }

  /// Of a datagram that has not been looked at: a short message of which little comes, or anything.
  static func expected(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard bytes.count <= 400, bytes.first == UInt8(ascii: "/") else { return letter + datagram }
    let address = UnsafeRawBufferPointer(rebasing: bytes.prefix { $0 != 0 })
    return isPlain(address) ? letter + message : letter + datagram
  }

  /// Of each packet of a flood this is asked, so C looks.
  private static func isPlain(_ address: UnsafeRawBufferPointer) -> Bool {
    guard let start = address.baseAddress, !AddressPattern.isPattern(address) else { return false }
    return !dear.contains { word in
      let count = word.utf8CodeUnitCount
      return stride(from: 0, through: address.count - count, by: 1).contains {
        memcmp(start + $0, word.utf8Start, count) == 0
      }
    }
  }

  /// In addresses of which much may come.
  private static let dear: [StaticString] = ["subscribe", "query", "list", "midi/", "out/add", "out/remove"]
}

/// What is left of what a datagram may cost.
struct Allowance {
  private(set) var left: Int
  private(set) var spent = 0

  init(_ whole: Int = Cost.datagram) { left = whole }

  mutating func spend(_ cost: Int) throws(Refusal) {
    guard take(cost) else { throw .tooMuch }
  }

  /// What is the user's own, however much it is: it takes all that is left, so that nothing comes behind it. Its sender pays the whole.
  mutating func owe(_ cost: Int) throws(Refusal) {
    guard left > 0 else { throw .tooMuch }
    left = max(0, left - cost)
    spent += cost
  }

  /// All or nothing.
  mutating func take(_ cost: Int) -> Bool {
    guard cost <= left else { return false }
    left -= cost
    spent += cost
    return true
  }
}
