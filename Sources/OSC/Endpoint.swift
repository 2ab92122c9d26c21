// SPDX-License-Identifier: GPL-2.0-or-later

/// An address without a port: IPv6, or IPv4 mapped into it, with the interface where one is needed.
public struct Host: Hashable, Sendable, BitwiseCopyable {
  public var high: UInt64
  public var low: UInt64
  public var scope: UInt32 = 0

  public init(high: UInt64, low: UInt64, scope: UInt32 = 0) {
    self.high = high
    self.low = low
    self.scope = scope
  }

  public init(ipv4: UInt32) {
    self.init(high: 0, low: 0xffff_0000_0000 | UInt64(ipv4))
  }

  public static let loopback = Host(ipv4: 0x7f00_0001)

  public var ipv4: UInt32? { high == 0 && low >> 32 == 0xffff ? UInt32(truncatingIfNeeded: low) : nil }

  public var isLoopback: Bool {
    if let ipv4 { ipv4 >> 24 == 127 } else { high == 0 && low == 1 }
  }

  /// 0.0.0.0 or ::, all addresses of the family.
  public var isEvery: Bool { ipv4 == 0 || (high == 0 && low == 0) }

  /// Dotted IPv4 or IPv6 with at most one `::`. No names: nothing here waits for a resolver.
  public init?(_ text: some StringProtocol) {
    if let ipv4 = Self.dotted(text) {
      self.init(ipv4: ipv4)
      return
    }
    let halves = text.split(separator: "::", maxSplits: 1, omittingEmptySubsequences: false)
    guard text.contains(":"), let head = Self.groups(halves[0]) else { return nil }
    var groups = head
    if halves.count == 2 {
      guard let tail = Self.groups(halves[1]), head.count + tail.count < 8 else { return nil }
      groups += Array(repeating: 0, count: 8 - head.count - tail.count) + tail
    }
    guard groups.count == 8 else { return nil }
    self.init(
      high: groups[..<4].reduce(0) { $0 << 16 | UInt64($1) },
      low: groups[4...].reduce(0) { $0 << 16 | UInt64($1) })
  }

  private static func dotted(_ text: some StringProtocol) -> UInt32? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 4 else { return nil }
    var value: UInt32 = 0
    for part in parts {
      guard part.utf8.count <= 3, let byte = UInt8(part) else { return nil }
      value = value << 8 | UInt32(byte)
    }
    return value
  }

  private static func groups(_ text: some StringProtocol) -> [UInt16]? {
    var groups: [UInt16] = []
    for part in text.split(separator: ":", omittingEmptySubsequences: !text.contains(":") && text.isEmpty) {
      if part.contains("."), let ipv4 = dotted(part) {
        groups += [UInt16(truncatingIfNeeded: ipv4 >> 16), UInt16(truncatingIfNeeded: ipv4)]
        continue
      }
      guard part.utf8.count <= 4, let group = UInt16(part, radix: 16) else { return nil }
      groups.append(group)
    }
    return groups
  }
}

extension Host: CustomStringConvertible {
  public var description: String {
    if let ipv4 {
      return (0..<4).map { "\(ipv4 >> UInt32(24 - 8 * $0) & 255)" }.joined(separator: ".")
    }
    let groups = (0..<8).map {
      UInt16(truncatingIfNeeded: ($0 < 4 ? high : low) >> UInt64(48 - 16 * ($0 % 4)))
    }
    // The longest run of zeros, if it is longer than one, is left out.
    var best = 0..<0
    var start = 0
    for index in 0...8 where index == 8 || groups[index] != 0 {
      if index - start > max(best.count, 1) { best = start..<index }
      start = index + 1
    }
    func text(_ part: ArraySlice<UInt16>) -> String {
      part.map { String($0, radix: 16) }.joined(separator: ":")
    }
    return best.isEmpty
      ? text(groups[...]) : text(groups[..<best.lowerBound]) + "::" + text(groups[best.upperBound...])
  }
}

/// An address and a UDP port.
public struct Endpoint: Hashable, Sendable, BitwiseCopyable, CustomStringConvertible {
  public var host: Host
  public var port: UInt16

  public init(_ host: Host, port: UInt16) {
    self.host = host
    self.port = port
  }

  /// `ADDRESS:PORT`, `[IPV6]:PORT`.
  public init?(_ text: some StringProtocol) {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
      return nil
    }
    var address = text[..<colon]
    if address.hasPrefix("["), address.hasSuffix("]") { address = address.dropFirst().dropLast() }
    guard let host = Host(address) else { return nil }
    self.init(host, port: port)
  }

  public var description: String { host.ipv4 == nil ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// The addresses from which messages are taken: `192.168.1.0/24`, `fe80::/10`, or one address.
public struct HostRange: Hashable, Sendable {
  package let host: Host
  /// Of 128, also for IPv4.
  package let bits: Int

  package init(host: Host, bits: Int) {
    self.host = host
    self.bits = bits
  }

  public init?(_ text: some StringProtocol) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let host = Host(parts[0]) else { return nil }
    let width = host.ipv4 == nil ? 128 : 32
    guard
      parts.count == 1
        || (parts[1].utf8.count <= 3 && parts[1].utf8.allSatisfy { (0x30...0x39).contains($0) })
    else { return nil }
    let bits = parts.count == 1 ? width : Int(parts[1]) ?? -1
    guard (0...width).contains(bits) else { return nil }
    self.host = host
    self.bits = bits + 128 - width
  }

  public func contains(_ other: Host) -> Bool {
    let high = bits >= 64 ? UInt64.max : bits == 0 ? 0 : UInt64.max << UInt64(64 - bits)
    let low = bits >= 128 ? UInt64.max : bits <= 64 ? 0 : UInt64.max << UInt64(128 - bits)
    return (host.high ^ other.high) & high == 0 && (host.low ^ other.low) & low == 0
  }
}
