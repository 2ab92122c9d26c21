// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusOSC

/// Costs of input for the surface's thread, in microseconds, rounded up from what `tools/bench osc` measures.
/// They are counted, not timed, so that the same packet costs the same on every machine and in every test.
///
/// One datagram may cost at most `datagram`; the rest of it is refused. All input together may cost at most a
/// tenth of a core: 6 % for datagrams (`share`), 1.5 % for keys, knobs and pedals.
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

  /// A source within this share goes ahead of the turns of others: it sends a cheap message every 10 ms.
  static let ahead = Share(perSecond: 5000, atOnce: 100)

  /// For keys, knobs and pedals: more than a MIDI cable carries, if each message comes alone.
  static let hands = Share(perSecond: 15_000, atOnce: 6000)

  /// Fetching a datagram and returning to wait.
  static let letter = 40
  /// Obeying a plain message, or sending one value.
  static let message = 4
  /// Handling one local input. Each message that it causes costs `message` in addition.
  static let touch = 2
  /// Answering with one message.
  static let answer = 3
  /// Bytes that are checked and decoded in a microsecond.
  static let bytes = 128
  /// Sending an error.
  static let refusal = 4
  /// Searching for the address that a sender may have meant.
  static let suggestion = 150
  /// Sending all values, or clearing a display.
  static let picture = 120
  static let learning = 60
  /// Rebuilding the table after an output was added or removed.
  static let reshaping = 400
  /// Sending one binding or one channel.
  static let binding = 3
  /// Parsing a pattern, and starting it at each address.
  static let pattern = 8
  /// Steps of pattern matching in a microsecond.
  static let patternSteps = 16

  static func telling(_ count: Int) -> Int { 10 + count / 2 }

  /// Cost limit of a message that is obeyed later. Its sender pays in advance.
  static func later(_ message: Message) -> Int {
    var address = message.address
    return address.withUTF8 { isPlain(UnsafeRawBufferPointer($0)) } ? Self.message : picture
  }

  /// Upper limit for a datagram that has not been decoded: a short plain message is cheap, anything else may
  /// cost the maximum.
  static func expected(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard bytes.count <= 400, bytes.first == UInt8(ascii: "/") else { return letter + datagram }
    let address = UnsafeRawBufferPointer(rebasing: bytes.prefix { $0 != 0 })
    return isPlain(address) ? letter + message : letter + datagram
  }

  /// This is called for each packet of a flood, so it uses C.
  private static func isPlain(_ address: UnsafeRawBufferPointer) -> Bool {
    guard let start = address.baseAddress, !AddressPattern.isPattern(address) else { return false }
    return !dear.contains { word in
      let count = word.utf8CodeUnitCount
      return stride(from: 0, through: address.count - count, by: 1).contains {
        memcmp(start + $0, word.utf8Start, count) == 0
      }
    }
  }

  /// Parts of addresses whose messages may be costly.
  private static let dear: [StaticString] = ["subscribe", "query", "list", "midi/", "out/add", "out/remove"]
}

/// The rest of what a datagram may cost.
struct Allowance {
  private(set) var left: Int
  private(set) var spent = 0

  init(_ whole: Int = Cost.datagram) { left = whole }

  mutating func spend(_ cost: Int) throws(Refusal) {
    guard trySpend(cost) else { throw .tooMuch }
  }

  /// Charges the full cost even if it exceeds the rest, for a request whose size is the user's choice. It
  /// uses up the allowance, so that nothing follows it in the datagram.
  mutating func owe(_ cost: Int) throws(Refusal) {
    guard left > 0 else { throw .tooMuch }
    left = max(0, left - cost)
    spent += cost
  }

  /// Charges the cost if it is covered; otherwise charges nothing and returns false.
  mutating func trySpend(_ cost: Int) -> Bool {
    guard cost <= left else { return false }
    left -= cost
    spent += cost
    return true
  }
}
