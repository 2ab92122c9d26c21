// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkAddresses
import LinkSystem
import TactusOSC
import TactusSurface

/// Checks whether the page answers: the doctor fetches the page once, as a browser on this machine does.
enum PageExamination {
  /// The limit for the whole request: the page's thread may be busy with other browsers.
  private static let requestTimeout = Duration.seconds(3)

  /// Whether the page answers; nil: no page is open.
  static func answers(_ reach: PageReach) -> Bool? {
    reach.addresses.first.map(answers)
  }

  /// - Parameter page: an address such as `http://192.168.7.20:20880/`.
  static func answers(_ page: String) -> Bool {
    guard let authority = authority(of: page), let endpoint = endpoint(authority),
      let descriptor = try? openSocket(endpoint, SOCK_STREAM)
    else { return false }
    defer { close(descriptor) }
    let deadline = ContinuousClock.now + requestTimeout
    let called = endpoint.withSocketAddress { connect(descriptor, $0, $1) }
    guard called == 0 || errno == EINPROGRESS, wait(descriptor, POLLOUT, until: deadline),
      option(descriptor, SOL_SOCKET, SO_ERROR) == 0
    else { return false }
    let request = Array("GET / HTTP/1.1\r\nHost: \(authority)\r\nConnection: close\r\n\r\n".utf8)
    guard Glibc.send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
      return false
    }
    let wanted = Array("HTTP/1.1 200 ".utf8)
    var heard: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: wanted.count)
    while heard.count < wanted.count, wait(descriptor, POLLIN, until: deadline) {
      let count = recv(descriptor, &chunk, wanted.count - heard.count, 0)
      guard count > 0 else { return false }
      heard += chunk[..<count]
    }
    return heard == wanted
  }

  /// The host and port of an address.
  private static func authority(of page: String) -> String? {
    let scheme = "http://"
    guard page.hasPrefix(scheme) else { return nil }
    return String(page.dropFirst(scheme.count).prefix { $0 != "/" })
  }

  /// The endpoint of a numeric host and a port; an IPv6 host stands in brackets.
  private static func endpoint(_ authority: String) -> Endpoint? {
    guard let colon = authority.lastIndex(of: ":"), let port = UInt16(authority[colon...].dropFirst()) else {
      return nil
    }
    return Address(String(authority[..<colon].filter { $0 != "[" && $0 != "]" })).map {
      Endpoint($0, port: port)
    }
  }

  private static func wait(
    _ descriptor: Int32, _ events: Int32, until deadline: ContinuousClock.Instant
  ) -> Bool {
    var place = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    let left = max(.zero, deadline - .now)
    let milliseconds = left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000
    return poll(&place, 1, Int32(clamping: milliseconds)) > 0
  }
}
