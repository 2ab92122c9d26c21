// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkSystem
import TactusOSC

/// The address in `NSM_URL`, which a session manager sets for the programs that it starts:
/// `osc.udp://host:port/`.
public struct ManagerAddress: Equatable, Sendable {
  public let host: String
  public let port: UInt16

  /// Parses the address; nil: the text has another form, for instance OSC over TCP, no port, or a path.
  public init?(url: String) {
    guard url.utf8.count <= 300, url.hasPrefix("osc.udp://") else { return nil }
    var rest = url.dropFirst("osc.udp://".count)
    if rest.hasSuffix("/") { rest = rest.dropLast() }
    guard let (host, port) = Endpoint.split(rest), port > 0 else { return nil }
    let isName = host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") }
    guard !host.isEmpty, isName else { return nil }
    self.host = host
    self.port = port
  }

  /// Resolves the host's name. Managers give the name of their machine, so this may ask the system's resolver
  /// and take long. IPv4 is preferred to IPv6, because liblo, which managers use, listens at IPv4. [control]
  public func resolve() -> Endpoint? {
    if let literal = Address(host) { return Endpoint(literal, port: port) }
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_DGRAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, nil, &hints, &list) == 0 else {
      // liblo gives the name of the manager's machine. If that is this machine, the name may not resolve: use
      // loopback.
      return host == hostName ? Endpoint(.loopback, port: port) : nil
    }
    defer { freeaddrinfo(list) }
    var found: [Address] = []
    var entry = list
    while let info = entry?.pointee, found.count < Self.answerLimit {
      if let endpoint = info.ai_addr.flatMap({ Endpoint(socketAddress: UnsafeRawPointer($0)) }) {
        found.append(endpoint.address)
      }
      entry = info.ai_next
    }
    let host = found.first { !$0.isIPv6 } ?? found.first
    return host.map { Endpoint($0, port: port) }
  }

  private static let answerLimit = 16
}
