// SPDX-License-Identifier: GPL-2.0-or-later
import Addresses
public import BeatMath

/// What no network and no stranger can make it exceed, and how long it waits for what.
public enum FarLimits {
  /// What a seal adds to a datagram.
  public static var tag: Int { 16 }
  /// Others that we call, and others that call us.
  public static var lines: Int { 8 }
  /// Addresses of one name.
  static var addresses: Int { 4 }
  /// A line on which nothing was to be sent says so this often: the shortest memory of a router is thirty seconds, and the other side should notice a cut soon.
  public static var keepAlive: Micros { Micros(1_000_000) }
  /// Who was not heard for so long is away.
  public static var silence: Micros { Micros(4_000_000) }
  /// Who called and was away for so long is forgotten, and its place is free.
  public static var memory: Micros { Micros(600_000_000) }
  /// So often is somebody called who does not answer; a while later, less often.
  public static var callSpacing: Micros { Micros(1_000_000) }
  static var eagerCalls: Int { 60 }
  static var patience: Micros { Micros(3_000_000) }
  /// Calls that may still be answered.
  static var attempts: Int { 3 }
  /// Handshakes that wait for a first word, and for how long.
  static var candidates: Int { 64 }
  static var candidateLife: Micros { Micros(5_000_000) }
  /// The caller makes new keys after so long or so many datagrams; those of before are still read for a moment. Without new ones they end.
  public static var renewal: Micros { Micros(1_800_000_000) }
  /// Who was called, and calls, too, does it only if the other side has not.
  static var lateRenewal: Micros { Micros(3_600_000_000) }
  static var renewalNumber: UInt64 { 1 << 40 }
  static var overlap: Micros { Micros(5_000_000) }
  public static var keyLife: Micros { Micros(7_200_000_000) }
  /// No key seals more.
  static var lastNumber: UInt64 { 1 << 48 }
  /// So many datagrams go to where the other side was heard last: five seconds of pings.
  static var credit: Int { 128 }
  /// From one address: hellos that are looked at in a second, and that are answered. A look is a hash and a
  /// cipher of some dozens of bytes, a few microseconds: all strangers together cost less than a tenth of a
  /// core.
  static var knocks: Int { 400 }
  static var entries: Int { 2 }
  /// Of hellos that were good: their repetition is not.
  static var hellos: Int { 1024 }
  /// Outputs that wait when a caller does not drain them.
  static var outputs: Int { 1024 }
}

/// What came, and what was not taken for which reason.
public struct FarCounters: Hashable, Sendable, BitwiseCopyable {
  public var received = 0
  /// Not a far wire's.
  public var malformed = 0
  /// Made with another key, or with none.
  public var refused = 0
  /// Seals of a proven line that do not fit.
  public var forged = 0
  /// Heard before, or too old to know.
  public var replayed = 0
  /// Our own, sent back.
  public var reflected = 0
  /// Nobody asked for it: for keys that are not there any more, or calls where none are accepted.
  public var unasked = 0
  /// More calls from there than anybody needs.
  public var flooded = 0
  /// More lines than there may be.
  public var crowdedOut = 0
  /// To a side that is not heard, or too much at once.
  public var unsent = 0
  public var handshakes = 0

  public init() {}
}

/// Public halves of the last hellos that were good.
struct RecentHellos: Sendable {
  private var halves: [UInt64] = []
  private var next = 0

  /// 64 bits of them will do: a hello that is taken for another by chance is followed by the next.
  mutating func isNew(_ half: FarKey) -> Bool {
    let mark = UInt64(bigEndianBytes: half.bytes.prefix(8))
    guard !halves.contains(mark) else { return false }
    if halves.count < FarLimits.hellos { halves.append(mark) } else { halves[next] = mark }
    next = (next + 1) % FarLimits.hellos
    return true
  }
}

/// The hellos from one place that are still looked at, and those that are still answered.
struct Purse: Sendable {
  var knocks: Allowance
  var entries: Allowance

  init(at now: Micros) {
    knocks = Allowance(perSecond: FarLimits.knocks, at: now)
    entries = Allowance(perSecond: FarLimits.entries, at: now)
  }
}

/// How often unproven addresses may knock: addresses share 64 purses by a rule that nobody outside knows, so
/// that one who floods takes the turn of one in 64 others at most, and all together cost little, however many
/// they pretend to be.
struct StrangersAllowance: Sendable {
  private var purses: [Purse]
  private let salt: UInt64

  init(salt: UInt64, at now: Micros) {
    self.salt = salt
    purses = Array(repeating: Purse(at: now), count: 64)
  }

  mutating func mayKnock(_ address: Address, at now: Micros) -> Bool {
    purses[purse(of: address)].knocks.take(at: now)
  }

  mutating func mayEnter(_ address: Address, at now: Micros) -> Bool {
    purses[purse(of: address)].entries.take(at: now)
  }

  /// Of IPv6 the network counts: who has one has all its addresses.
  private func purse(of address: Address) -> Int {
    let number: UInt64 =
      switch address {
      case .v4(let bits): UInt64(bits)
      case .v6(let high, _, _): ~high
      }
    var mixed = (number ^ salt) &* 0x9e37_79b9_7f4a_7c15
    mixed ^= mixed >> 29
    mixed = (mixed &+ salt) &* 0xbf58_476d_1ce4_e5b9
    return Int(mixed >> 58)
  }
}
