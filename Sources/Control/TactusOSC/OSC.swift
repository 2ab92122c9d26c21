// SPDX-License-Identifier: GPL-2.0-or-later
@_exported public import LinkAddresses

// OSC over UDP, for the control surface and the session manager: messages, addresses, and a socket.
//
// Every packet is checked byte by byte (`PacketCheck`) before liblo decodes it (`LibloCodec`). This module
// does not know what an address means. It has no thread, and its sockets do not block; only
// `OSCPort.receive(withinMilliseconds:)` waits. TCP is left out on purpose.
//
// Start reading at `Message`, `OSCPort` for a conversation with one program, `DatagramSocket` for many.

/// One argument of an OSC message, as liblo decoded it. Types that tactus has no use for become `.other`.
public enum Argument: Hashable, Sendable {
  case int32(Int32)
  case int64(Int64)
  case float32(Float)
  case float64(Double)
  case string(String)
  case truth(Bool)
  case null
  case impulse
  case other(tag: UInt8)

  /// The number that the argument stands for: any numeric type, a boolean, or digits as text; nil: no number.
  public var number: Double? {
    switch self {
    case .int32(let value): Double(value)
    case .int64(let value): Double(value)
    case .float32(let value): value.isFinite ? Double(value) : nil
    case .float64(let value): value.isFinite ? value : nil
    case .string(let text): Double(text).flatMap { $0.isFinite ? $0 : nil }
    case .truth(let value): value ? 1 : 0
    case .null, .impulse, .other: nil
    }
  }

  /// The argument's type tag when it is sent.
  package var tag: Character {
    switch self {
    case .int32: "i"
    case .int64: "h"
    case .float32: "f"
    case .float64: "d"
    case .string: "s"
    case .truth(let value): value ? "T" : "F"
    case .null: "N"
    case .impulse: "I"
    case .other(let tag): Character(UnicodeScalar(tag))
    }
  }
}

public struct Message: Hashable, Sendable {
  public var address: String
  public var arguments: [Argument]

  public init(_ address: String, _ arguments: Argument...) {
    self.init(address, arguments: arguments)
  }

  public init(_ address: String, arguments: [Argument]) {
    self.address = address
    self.arguments = arguments
  }
}

/// A time of the wall clock in OSC's format: seconds since 1900 and a binary fraction of a second.
package struct Timetag: Hashable {
  package let rawValue: UInt64

  package static let immediately = Timetag(rawValue: 1)
  /// The seconds from the beginning of 1900 to the beginning of 1970.
  private static let unixEpoch: UInt64 = 2_208_988_800

  /// A year in seconds.
  private static let farthest = 31_536_000.0

  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  package init(unixSeconds: Int64, nanoseconds: Int64) {
    let seconds = UInt64(truncatingIfNeeded: unixSeconds) &+ Self.unixEpoch
    let fraction = (UInt64(truncatingIfNeeded: nanoseconds) << 32) / 1_000_000_000
    rawValue = seconds << 32 | (fraction & 0xffff_ffff)
  }

  /// Whether the time means "at once": the standard's value 1, or any other with 0 seconds, which some
  /// senders write for no time.
  package var isImmediate: Bool { rawValue >> 32 == 0 }

  /// The seconds from `other` to this time. The arithmetic wraps, because the seconds start again at 0 in
  /// February 2036. A time more than a year ahead is taken for a time in the last century, because its
  /// sender's clock was never set.
  package func seconds(since other: Timetag) -> Double {
    let seconds = Double(Int64(bitPattern: rawValue &- other.rawValue)) / 4_294_967_296
    return seconds < Self.farthest ? seconds : seconds - 4_294_967_296
  }
}
