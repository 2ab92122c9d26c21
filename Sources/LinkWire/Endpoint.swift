// SPDX-License-Identifier: GPL-2.0-or-later

/// An IP address. IPv4 sorts before IPv6, then by number, then by scope: the order of Link's gateways.
public enum Address: Hashable, Sendable, BitwiseCopyable {
  /// First byte most significant.
  case v4(UInt32)
  /// First byte most significant; `scope` is the interface's index, needed for link-local ones, 0 if unknown.
  /// It is never on the wire: whoever received the packet knows it.
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

/// Where a datagram comes from or goes to.
public struct Endpoint: Hashable, Comparable, Sendable, BitwiseCopyable {
  public var address: Address
  public var port: UInt16

  @_noLocks @_noAllocation
  public init(address: Address, port: UInt16) {
    self.address = address
    self.port = port
  }

  public static func < (left: Endpoint, right: Endpoint) -> Bool {
    (left.address, left.port) < (right.address, right.port)
  }

  public static let discoveryPort: UInt16 = 20808
  /// 224.76.78.75, to which every peer announces itself.
  public static let discoveryGroupV4 = Endpoint(address: .v4(0xe04c_4e4b), port: discoveryPort)
  /// ff12::8080; to be scoped to the interface it leaves by.
  public static let discoveryGroupV6 = Endpoint(
    address: .v6(high: 0xff12_0000_0000_0000, low: 0x8080, scope: 0), port: discoveryPort)

  /// The group that a gateway with this address announces itself to.
  public static func discoveryGroup(for gateway: Address) -> Endpoint {
    switch gateway {
    case .v4: discoveryGroupV4
    case .v6(_, _, let scope):
      Endpoint(address: discoveryGroupV6.address.scoped(scope), port: discoveryPort)
    }
  }
}

extension Address: CustomStringConvertible {
  public var description: String {
    switch self {
    case .v4(let bits):
      return "\(bits >> 24).\(bits >> 16 & 255).\(bits >> 8 & 255).\(bits & 255)"
    case .v6(let high, let low, let scope):
      let groups = [high, low].flatMap { half in
        [48, 32, 16, 0].map { UInt16(truncatingIfNeeded: half >> $0) }
      }
      let text = Address.compressed(groups)
      return scope == 0 ? text : "\(text)%\(scope)"
    }
  }

  /// The longest run of two or more zero groups becomes `::`.
  private static func compressed(_ groups: [UInt16]) -> String {
    var longest = 0..<0
    var start = 0
    while start < groups.count {
      var end = start
      while end < groups.count && groups[end] == 0 { end += 1 }
      if end - start > max(1, longest.count) { longest = start..<end }
      start = max(end, start + 1)
    }
    let hex = { (part: ArraySlice<UInt16>) in part.map { String($0, radix: 16) }.joined(separator: ":") }
    if longest.isEmpty { return hex(groups[...]) }
    return hex(groups[..<longest.lowerBound]) + "::" + hex(groups[longest.upperBound...])
  }
}

extension Endpoint: CustomStringConvertible {
  public var description: String {
    address.isIPv6 ? "[\(address)]:\(port)" : "\(address):\(port)"
  }
}
