// SPDX-License-Identifier: GPL-2.0-or-later

// IP addresses as values, and the notion of a neighbour, for Link and for OSC. `Linux` has the system's part,
// and addresses as text.

/// An IP address. IPv4 sorts before IPv6, then by number, then by scope: the order of Link's gateways.
public enum Address: Hashable, Sendable, BitwiseCopyable {
  /// First byte most significant.
  case v4(UInt32)
  /// First byte most significant. `scope` is the interface's index, which link-local addresses need, 0 if
  /// unknown. It is not on the wire: the receiver of a packet knows it.
  case v6(high: UInt64, low: UInt64, scope: UInt32)

  /// IPv4 loopback, all of 127/8, or ::1.
  public var isLoopback: Bool {
    switch self {
    case .v4(let bits): bits >> 24 == 127
    case .v6(let high, let low, _): high == 0 && low == 1
    }
  }

  /// fe80::/10.
  public var isIPv6LinkLocal: Bool {
    switch self {
    case .v4: false
    case .v6(let high, _, _): high >> 54 == 0xfe80 >> 6
    }
  }

  /// The family; a socket has one of the two.
  public var isIPv6: Bool {
    switch self {
    case .v4: false
    case .v6: true
    }
  }

  /// 0 for IPv4.
  public var scope: UInt32 {
    switch self {
    case .v4: 0
    case .v6(_, _, let scope): scope
    }
  }

  /// 127.0.0.1.
  public static let loopback = Address.v4(0x7f00_0001)

  /// Whether it is a group (multicast) or all hosts (broadcast).
  package var isOfMany: Bool {
    switch self {
    case .v4(let bits): bits >> 28 == 14 || bits == UInt32.max
    case .v6(let high, _, _): high >> 56 == 0xff
    }
  }

  /// 0.0.0.0 or ::, all addresses of the family.
  public var isEvery: Bool {
    switch self {
    case .v4(let bits): bits == 0
    case .v6(let high, let low, _): high == 0 && low == 0
    }
  }

  /// 0 for IPv6.
  package var v4Bits: UInt32 {
    switch self {
    case .v4(let bits): bits
    case .v6: 0
    }
  }

  /// The same address, reached through the interface `scope`; IPv4 has none and stays.
  public func scoped(_ scope: UInt32) -> Address {
    switch self {
    case .v4: self
    case .v6(let high, let low, _): .v6(high: high, low: low, scope: scope)
    }
  }
}

extension Address: Comparable {
  public static func < (left: Address, right: Address) -> Bool {
    switch (left, right) {
    case (.v4(let a), .v4(let b)): a < b
    case (.v4, .v6): true
    case (.v6, .v4): false
    case (.v6(let a, let b, let c), .v6(let d, let e, let f)): (a, b, c) < (d, e, f)
    }
  }
}

/// The source or destination of a datagram.
public struct Endpoint: Hashable, Comparable, Sendable, BitwiseCopyable {
  /// The address of a machine or a group.
  public var address: Address
  /// The port in host byte order. 0: the system chooses one when a socket is bound.
  public var port: UInt16

  /// A port at an address; no host need be there.
  @_noLocks @_noAllocation
  public init(_ address: Address, port: UInt16) {
    self.address = address
    self.port = port
  }

  public static func < (left: Endpoint, right: Endpoint) -> Bool {
    (left.address, left.port) < (right.address, right.port)
  }
}

/// The id of a gateway: one local address in use. The caller opens its sockets, draws an id, and then adds
/// the gateway to the machine.
public struct GatewayID: Hashable, Sendable, BitwiseCopyable {
  /// A number that no gateway of the same machine had before.
  public var rawValue: UInt32

  /// An id for a gateway that is about to be opened.
  public init(rawValue: UInt32) {
    self.rawValue = rawValue
  }
}

/// A network, or one address: 192.168.1.0/24. Scopes don't count.
public struct AddressRange: Hashable, Sendable {
  private let address: Address
  private let bits: Int

  package var isIPv6: Bool { address.isIPv6 }

  /// nil: the address has fewer bits.
  public init?(_ address: Address, bits: Int) {
    guard (0...(address.isIPv6 ? 128 : 32)).contains(bits) else { return nil }
    self.address = address
    self.bits = bits
  }

  /// The range of this one address.
  public init(_ address: Address) {
    self.address = address
    bits = address.isIPv6 ? 128 : 32
  }

  /// Whether the range contains the address; false for the other family.
  public func contains(_ other: Address) -> Bool {
    switch (address, other) {
    case (.v4(let ours), .v4(let other)): (ours ^ other) >> UInt32(32 - bits) == 0
    case (.v6(let high, let low, _), .v6(let otherHigh, let otherLow, _)):
      (high ^ otherHigh) >> UInt64(64 - min(bits, 64)) == 0
        && (low ^ otherLow) >> UInt64(128 - max(bits, 64)) == 0
    case (.v4, .v6), (.v6, .v4): false
    }
  }
}
