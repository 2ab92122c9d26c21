// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
public import LinkAddresses

// Addresses as text, by the C library's rules. Names are not accepted: nothing here waits for a resolver.

extension Address {
  /// Reads an address like `192.168.7.20`, `fe80::1` or `fe80::1%eth0`. An IPv4 address in IPv6 form
  /// (`::ffff:127.0.0.1`) becomes an IPv4 address.
  public init?(_ text: some StringProtocol) {
    let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
    var ipv4 = in_addr()
    var ipv6 = in6_addr()
    if parts.count == 1, inet_pton(AF_INET, String(text), &ipv4) == 1 {
      self = .v4(UInt32(bigEndian: ipv4.s_addr))
    } else if inet_pton(AF_INET6, String(parts[0]), &ipv6) == 1 {
      var scope: UInt32 = 0
      if parts.count == 2 {
        scope = UInt32(parts[1]) ?? if_nametoindex(String(parts[1]))
        if scope == 0 { return nil }
      }
      let (high, low) = withUnsafeBytes(of: ipv6) {
        (
          UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
          UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        )
      }
      let isMapped = high == 0 && low >> 32 == 0xffff
      self = isMapped ? .v4(UInt32(truncatingIfNeeded: low)) : .v6(high: high, low: low, scope: scope)
    } else {
      return nil
    }
  }
}

extension Address: CustomStringConvertible {
  public var description: String {
    Endpoint(self, port: 0).withSocketAddress { address, _ in
      let bytes = UnsafeRawPointer(address)
      let place =
        bytes
        + (isIPv6
          ? MemoryLayout<sockaddr_in6>.offset(of: \.sin6_addr)!
          : MemoryLayout<sockaddr_in>.offset(of: \.sin_addr)!)
      var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
      inet_ntop(isIPv6 ? AF_INET6 : AF_INET, place, &text, socklen_t(text.count))
      let written = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      return scope == 0 ? written : "\(written)%\(scope)"
    }
  }
}

extension Endpoint: CustomStringConvertible {
  /// Reads an endpoint in the form `ADDRESS:PORT` or `[IPV6]:PORT`.
  public init?(_ text: some StringProtocol) {
    guard let (host, port) = Self.split(text), let address = Address(host) else { return nil }
    self.init(address, port: port)
  }

  /// Splits a host and its port; a host with colons must be in brackets.
  package static func split(_ text: some StringProtocol) -> (host: String, port: UInt16)? {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
      return nil
    }
    let host = text[..<colon]
    let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
    return (String(isBracketed ? host.dropFirst().dropLast() : host), port)
  }

  public var description: String { address.isIPv6 ? "[\(address)]:\(port)" : "\(address):\(port)" }
}

/// This machine's name; nil if it has none.
package var hostName: String? {
  var name = [CChar](repeating: 0, count: 256)
  guard gethostname(&name, name.count - 1) == 0 else { return nil }
  return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

extension AddressRange {
  /// Reads a range like `192.168.1.0/24` or `fe80::/10`, or one address.
  public init?(_ text: some StringProtocol) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let address = Address(parts[0]) else { return nil }
    guard parts.count == 2 else {
      self.init(address)
      return
    }
    guard parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let bits = Int(parts[1]) else {
      return nil
    }
    self.init(address, bits: bits)
  }
}
