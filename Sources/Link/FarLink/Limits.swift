// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAddresses
public import LinkBeatMath

/// Limits that no network and no stranger can exceed, and the timing of the protocol.
public enum FarLimits {
  /// The number of bytes that a seal adds to a datagram.
  public static var tag: Int { 16 }
  /// The most programs that we call, and the most programs that call us.
  public static var lines: Int { 8 }
  /// The most addresses that we call for one host name.
  static var addresses: Int { 4 }
  /// The interval of keep-alives on an idle connection. Routers forget an idle flow after thirty seconds at
  /// the earliest. The interval is shorter, because the other side should notice a cut soon.
  public static var keepAlive: Micros { Micros(1_000_000) }
  /// A side that was not heard for this time is away.
  public static var silence: Micros { Micros(4_000_000) }
  /// A caller that was away for this time is forgotten, and another caller may take its place.
  public static var memory: Micros { Micros(600_000_000) }
  /// Interval of calls to a side that does not answer: `callSpacing` for the first `eagerCalls`, then
  /// `callTimeout`.
  public static var callSpacing: Micros { Micros(1_000_000) }
  static var eagerCalls: Int { 60 }
  static var callTimeout: Micros { Micros(3_000_000) }
  /// The most unanswered calls to one program whose answers we still accept.
  static var attempts: Int { 3 }
  /// The most handshakes that wait for a first sealed datagram, and how long they wait.
  static var candidates: Int { 64 }
  static var candidateLife: Micros { Micros(5_000_000) }
  /// The caller renews the keys after the time `renewal`, or after `renewalNumber` datagrams. The former keys
  /// still open datagrams for the time `overlap`. Keys end after `keyLife`.
  public static var renewal: Micros { Micros(1_800_000_000) }
  /// A side that was called, and calls as well, renews the keys only after this longer time, if the other
  /// side has not renewed them before.
  static var lateRenewal: Micros { Micros(3_600_000_000) }
  static var renewalNumber: UInt64 { 1 << 40 }
  static var overlap: Micros { Micros(5_000_000) }
  public static var keyLife: Micros { Micros(7_200_000_000) }
  /// The most datagrams that a key seals; their numbers begin with 0.
  static var numbers: UInt64 { 1 << 48 }
  /// The most datagrams that may be sent to the other side until it is heard again from the same endpoint:
  /// five seconds of pings.
  static var credit: Int { 128 }
  /// The most hellos of one `Caller` (a known room, or a group of unknown addresses) that we decrypt in a
  /// second (`knocks`), and the most that we answer (`entries`). To decrypt a hello takes a hash, three HMACs
  /// and a cipher, each of some dozens of bytes.
  static var knocks: Int { 400 }
  static var entries: Int { 2 }
  /// The most answers to our calls that are opened in a second on one connection. An answer costs a shared
  /// secret before its seal can be checked. A sender that has not seen an answer must guess the index.
  static var answers: Int { 400 }
  /// The number of accepted hellos that we remember, because a repeated one must be refused.
  static var hellos: Int { 1024 }
  /// The most outputs that wait to be taken.
  static var outputs: Int { 1024 }
}

/// Counts what was received, and what was dropped for which reason.
public struct FarCounters: Hashable, Sendable, BitwiseCopyable {
  public var received = 0
  /// The number of datagrams that do not have the form of a datagram between two rooms.
  public var malformed = 0
  /// The number of datagrams made with another key, or without a key.
  public var refused = 0
  /// The number of datagrams that name keys in use, but were not sealed with these keys.
  public var forged = 0
  /// The number of datagrams that were received before, or that are too old for us to know.
  public var replayed = 0
  /// The number of our own hellos, sent back to us.
  public var reflected = 0
  /// The number of datagrams for keys that no longer exist, and of calls at an address that accepts no calls.
  public var unasked = 0
  /// The number of datagrams over a limit: more hellos or answers than any honest side sends.
  public var flooded = 0
  /// The number of connections that were refused because there were too many.
  public var crowdedOut = 0
  /// The number of datagrams that were not sent: the other side is not heard, or too many outputs waited.
  public var unsent = 0
  public var handshakes = 0

  public init() {}
}

/// The public halves of recently accepted hellos.
struct RecentHellos: Sendable {
  private var halves: [UInt64] = []
  private var next = 0

  /// Whether no hello with this public half was accepted before. Only 64 bits are compared: if two halves are
  /// equal there by chance, the caller's next hello succeeds.
  mutating func isNew(_ half: FarKey) -> Bool {
    let mark = UInt64(bigEndianBytes: half.bytes.prefix(8))
    guard !halves.contains(mark) else { return false }
    if halves.count < FarLimits.hellos { halves.append(mark) } else { halves[next] = mark }
    next = (next + 1) % FarLimits.hellos
    return true
  }
}

/// The source of a hello. A room that has called us, or that we call, has limits of its own, so that a flood
/// from other addresses cannot keep it from returning.
enum Caller: Hashable, Sendable {
  case known(LineID)
  /// All other addresses are divided into 64 parts, by a secret rule. A flood from one address uses up the
  /// limits of its own part only, so 63 of 64 other callers are not affected. All addresses together cost
  /// little, however many an attacker forges.
  case stranger(part: UInt8)

  var trust: Trust {
    switch self {
    case .known: .known
    case .stranger: .stranger
    }
  }

  /// A caller that we do not know. Of an IPv6 address only the network is used, because one owner has all
  /// addresses of a network.
  init(strangerAt address: Address, salt: UInt64) {
    let number: UInt64 =
      switch address {
      case .v4(let bits): UInt64(bits)
      case .v6(let high, _, _): ~high
      }
    var mixed = (number ^ salt) &* 0x9e37_79b9_7f4a_7c15
    mixed ^= mixed >> 29
    mixed = (mixed &+ salt) &* 0xbf58_476d_1ce4_e5b9
    self = .stranger(part: UInt8(mixed >> 58))
  }
}

extension InputGate<Caller> {
  /// Limits the hellos of each caller to `perSecond` in a second.
  init(perSecond: Int, at now: Micros) {
    let one = Double(perSecond)
    self.init(
      { trust in
        let callers = Double(trust == .stranger ? 64 : 2 * FarLimits.lines)
        return Share(perSecond: callers * one, atOnce: callers * one)
      }, ofSource: Share(perSecond: one, atOnce: one), most: 128, at: now)
  }
}
