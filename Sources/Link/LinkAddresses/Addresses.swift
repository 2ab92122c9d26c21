// SPDX-License-Identifier: GPL-2.0-or-later

// IP addresses as values, and the notion of a neighbour, for Link and for OSC. The module `LinkSystem` gets
// addresses from the system, and reads and writes them as text.

/// An IP address. IPv4 sorts before IPv6, then by number, then by scope: the order of Link's gateways.
public enum Address: Hashable, Sendable, BitwiseCopyable {
  /// The bits of an IPv4 address; its first byte is the most significant.
  case v4(UInt32)
  /// The bits of an IPv6 address; its first byte is the most significant. `scope` is the index of an
  /// interface, which link-local addresses need; 0 if unknown. A packet does not contain the scope: its
  /// receiver knows the interface.
  case v6(high: UInt64, low: UInt64, scope: UInt32)

  /// Whether it is a loopback address: any address in 127/8, or ::1.
  public var isLoopback: Bool {
    switch self {
    case .v4(let bits): bits >> 24 == 127
    case .v6(let high, let low, _): high == 0 && low == 1
    }
  }

  /// Whether it is a link-local IPv6 address, in fe80::/10.
  public var isIPv6LinkLocal: Bool {
    switch self {
    case .v4: false
    case .v6(let high, _, _): high >> 54 == 0xfe80 >> 6
    }
  }

  /// Whether it is an IPv6 address. Each socket has one of the two families.
  public var isIPv6: Bool {
    switch self {
    case .v4: false
    case .v6: true
    }
  }

  /// The scope of an IPv6 address; 0 for IPv4.
  public var scope: UInt32 {
    switch self {
    case .v4: 0
    case .v6(_, _, let scope): scope
    }
  }

  /// The usual IPv4 loopback address, 127.0.0.1.
  public static let loopback = Address.v4(0x7f00_0001)

  /// Whether the address stands for a group (multicast) or for all hosts (broadcast).
  package var isOfMany: Bool {
    switch self {
    case .v4(let bits): bits >> 28 == 14 || bits == UInt32.max
    case .v6(let high, _, _): high >> 56 == 0xff
    }
  }

  /// Whether it is 0.0.0.0 or ::, which stand for all addresses of the family.
  public var isEvery: Bool {
    switch self {
    case .v4(let bits): bits == 0
    case .v6(let high, let low, _): high == 0 && low == 0
    }
  }

  /// The bits of an IPv4 address; 0 for IPv6.
  package var v4Bits: UInt32 {
    switch self {
    case .v4(let bits): bits
    case .v6: 0
    }
  }

  /// The same address, reached through the interface `scope`; an IPv4 address has no scope and stays as it
  /// is.
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

/// The id of a gateway: one local address in use. The caller opens the gateway's sockets, chooses an id, and
/// then adds the gateway to the session.
public struct GatewayID: Hashable, Sendable, BitwiseCopyable {
  /// A number that no gateway of the same session had before.
  public var rawValue: UInt32

  /// An id for a gateway that is about to be opened.
  public init(rawValue: UInt32) {
    self.rawValue = rawValue
  }
}

/// A network, like 192.168.1.0/24, or one address. Scopes are ignored.
public struct AddressRange: Hashable, Sendable {
  private let address: Address
  private let bits: Int

  package var isIPv6: Bool { address.isIPv6 }

  /// The network of the first `bits` bits of `address`. Returns nil if the address has fewer bits.
  public init?(_ address: Address, bits: Int) {
    guard (0...(address.isIPv6 ? 128 : 32)).contains(bits) else { return nil }
    self.address = address
    self.bits = bits
  }

  /// Makes the range that contains only this address.
  public init(_ address: Address) {
    self.address = address
    bits = address.isIPv6 ? 128 : 32
  }

  /// Whether the range contains the address; false for an address of the other family.
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
