// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusOSC

/// The costs of input for the surface's thread, in microseconds, rounded up from the figures of `tools/bench
/// osc`. Costs are counted and not measured at run time, so that a packet costs the same on every machine and
/// in every test.
///
/// One datagram may cost at most `datagram`; the messages beyond that are refused. All input together may
/// cost at most a tenth of a core: 6 % for datagrams (`share`), 1.5 % for keys, knobs and pedals.
enum Cost {
  static let datagram = 500
  typealias Share = InputGate<Endpoint>.Share

  static func share(of trust: Trust) -> Share {
    switch trust {
    case .trusted: Share(perSecond: 30_000, atOnce: 14_000)
    case .known: Share(perSecond: 12_000, atOnce: 6000)
    case .stranger: Share(perSecond: 18_000, atOnce: 6000)
    }
  }

  /// The share of the thread's time that a source may use ahead of other sources' turns. It is enough
  /// for a cheap message every 10 ms.
  static let ahead = Share(perSecond: 5000, atOnce: 100)

  /// The share of the thread's time for keys, knobs and pedals. It is enough for more messages than a
  /// MIDI cable carries.
  static let hands = Share(perSecond: 15_000, atOnce: 6000)

  /// The cost of fetching a datagram and waiting again.
  static let letter = 40
  /// The cost of obeying a plain message, or of sending one value.
  static let message = 4
  /// The cost of one local input. Each message that the input causes costs `message` in addition.
  static let touch = 2
  /// The cost of an answer of one message.
  static let answer = 3
  /// How many bytes are checked and decoded in a microsecond.
  static let bytes = 128
  /// The cost of sending an error.
  static let refusal = 4
  /// The cost of searching for the address that a sender may have meant.
  static let suggestion = 150
  /// The cost of sending all values, or of clearing a display.
  static let picture = 120
  static let learning = 60
  /// The cost of rebuilding the table after an output was added or removed.
  static let reshaping = 400
  /// The cost of sending one binding or one channel.
  static let binding = 3
  /// The cost of parsing a pattern and starting the match at each address.
  static let pattern = 8
  /// How many steps of pattern matching are done in a microsecond.
  static let patternSteps = 16

  static func telling(_ count: Int) -> Int { 10 + count / 2 }

  /// The highest cost of a message that is obeyed later; its sender is charged in advance.
  static func later(_ message: Message) -> Int {
    var address = message.address
    return address.withUTF8 { isPlain(UnsafeRawBufferPointer($0)) } ? Self.message : picture
  }

  /// The highest possible cost of a datagram that is not decoded yet. A short plain message is cheap; any
  /// other datagram may cost the maximum.
  static func expected(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard bytes.count <= 400, bytes.first == UInt8(ascii: "/") else { return letter + datagram }
    let address = UnsafeRawBufferPointer(rebasing: bytes.prefix { $0 != 0 })
    return isPlain(address) ? letter + message : letter + datagram
  }

  /// Whether an address costs no more than a plain message. This uses C functions, because it runs for each
  /// packet of a flood.
  private static func isPlain(_ address: UnsafeRawBufferPointer) -> Bool {
    guard let start = address.baseAddress, !AddressPattern.isPattern(address) else { return false }
    return !dear.contains { word in
      let count = word.utf8CodeUnitCount
      return stride(from: 0, through: address.count - count, by: 1).contains {
        memcmp(start + $0, word.utf8Start, count) == 0
      }
    }
  }

  /// Parts of addresses whose messages may cost more than a plain message.
  private static let dear: [StaticString] = ["subscribe", "query", "list", "midi/", "out/add", "out/remove"]
}

/// The cost that the present datagram may still cause.
struct Allowance {
  private(set) var left: Int
  private(set) var spent = 0

  init(_ whole: Int = Cost.datagram) { left = whole }

  mutating func spend(_ cost: Int) throws(Refusal) {
    guard trySpend(cost) else { throw .tooMuch }
  }

  /// Charges the full cost even if less is left, for a request whose size the user chose. Nothing more of the
  /// datagram is obeyed then.
  mutating func owe(_ cost: Int) throws(Refusal) {
    guard left > 0 else { throw .tooMuch }
    left = max(0, left - cost)
    spent += cost
  }

  /// Charges the cost if enough is left; otherwise charges nothing and returns false.
  mutating func trySpend(_ cost: Int) -> Bool {
    guard cost <= left else { return false }
    left -= cost
    spent += cost
    return true
  }
}
