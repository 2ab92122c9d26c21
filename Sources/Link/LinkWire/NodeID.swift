// SPDX-License-Identifier: GPL-2.0-or-later

// A node id is eight printable characters, and the smaller id wins (facts: link 2.1, 7.4).

/// Eight bytes that identify a peer until its next reset. Ids compare as unsigned bytes, the first byte most
/// significant; their order decides between equally old sessions.
public struct NodeID: Hashable, Comparable, Sendable, BitwiseCopyable {
  /// The eight bytes as a number; the first byte on the wire is the most significant.
  public var rawValue: UInt64

  /// Makes an existing id; `init(using:)` draws a new id.
  @_noLocks @_noAllocation
  public init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  /// A new id: each byte is drawn evenly from 33...126, the printable ASCII characters without the space.
  public init(using generator: inout some RandomNumberGenerator) {
    var value: UInt64 = 0
    for _ in 0..<8 {
      value = value << 8 | UInt64.random(in: 33...126, using: &generator)
    }
    rawValue = value
  }

  /// A new id for a relay between rooms: it begins with a space, so that it is lower than the id of any
  /// ordinary peer.
  public init(ofRelayUsing generator: inout some RandomNumberGenerator) {
    rawValue = NodeID(using: &generator).rawValue & ~(0xff << 56) | 0x20 << 56
  }

  @_noLocks @_noAllocation
  public static func < (left: NodeID, right: NodeID) -> Bool { left.rawValue < right.rawValue }

  @_noLocks @_noAllocation
  public static func == (left: NodeID, right: NodeID) -> Bool { left.rawValue == right.rawValue }
}

/// A session's id is its founder's id at that time.
public typealias SessionID = NodeID

extension NodeID: CustomStringConvertible {
  /// The form that Ableton's library prints: `0x` and sixteen hexadecimal digits.
  public var description: String {
    let digits = String(rawValue, radix: 16)
    return "0x" + String(repeating: "0", count: 16 - digits.count) + digits
  }
}
