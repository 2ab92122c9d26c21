// SPDX-License-Identifier: GPL-2.0-or-later

/// Eight bytes that name a peer until its next reset. The order is that of the bytes, unsigned, the first most
/// significant: it decides ties between sessions (facts: link 2.1, 7.4).
public struct NodeID: Hashable, Comparable, Sendable, BitwiseCopyable {
  /// The first byte on the wire is the most significant.
  public var rawValue: UInt64

  /// An id that somebody has already; a new one is drawn by `init(using:)`.
  @_noLocks @_noAllocation
  public init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  /// A fresh one: each byte drawn evenly from 33...126, printable without the space.
  public init(using generator: inout some RandomNumberGenerator) {
    var value: UInt64 = 0
    for _ in 0..<8 {
      value = value << 8 | UInt64.random(in: 33...126, using: &generator)
    }
    rawValue = value
  }

  /// A fresh one for a relay between rooms: a space before it, so that it is lower than every ordinary peer's.
  public init(ofRelayUsing generator: inout some RandomNumberGenerator) {
    rawValue = NodeID(using: &generator).rawValue & ~(0xff << 56) | 0x20 << 56
  }

  @_noLocks @_noAllocation
  public static func < (left: NodeID, right: NodeID) -> Bool { left.rawValue < right.rawValue }

  @_noLocks @_noAllocation
  public static func == (left: NodeID, right: NodeID) -> Bool { left.rawValue == right.rawValue }
}

/// A session bears the name that its founder had when it founded it.
public typealias SessionID = NodeID

extension NodeID: CustomStringConvertible {
  /// As the reference prints it: `0x` and sixteen hexadecimal digits.
  public var description: String {
    let digits = String(rawValue, radix: 16)
    return "0x" + String(repeating: "0", count: 16 - digits.count) + digits
  }
}
