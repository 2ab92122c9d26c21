// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc

/// Tells when the machine's addresses may have changed, without saying how: the scan finds that out.
///
/// The kernel announces changes on a netlink socket. Where it can't be had, as in some sandboxes, the scan every
/// five seconds is all there is.
final class AddressWatch: Sendable {
  /// -1 if there is none.
  let descriptor: Int32

  init() {
    let kind = Int32(SOCK_RAW.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let socket = Glibc.socket(AF_NETLINK, kind, 0)  // NETLINK_ROUTE
    guard socket >= 0 else {
      descriptor = -1
      return
    }
    // struct sockaddr_nl, which Glibc's module does not have: family, padding, our port (0: any), groups.
    let linkIPv4IPv6: UInt32 = 0x1 | 0x10 | 0x100
    let address: (UInt16, UInt16, UInt32, UInt32) = (UInt16(AF_NETLINK), 0, 0, linkIPv4IPv6)
    let result = withUnsafeBytes(of: address) {
      Glibc.bind(socket, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
    }
    if result == 0 {
      descriptor = socket
    } else {
      close(socket)
      descriptor = -1
    }
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Forgets what was announced; whether anything was. An overrun counts: something was.
  func drain() -> Bool {
    guard descriptor >= 0 else { return false }
    var buffer = [UInt8](repeating: 0, count: 4096)
    var announced = false
    for _ in 0..<64 {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      if count < 0 && errno != ENOBUFS { break }
      announced = true
    }
    return announced
  }
}
