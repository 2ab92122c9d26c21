// SPDX-License-Identifier: GPL-2.0-or-later
import Addresses
import BeatMath
import Glibc
import OSC

/// What holds wherever we listen, for controllers (`Doors`) and for browsers: how often an address is looked at again, which ports are
/// tried, when an address is lost, and which is not missed.
package enum Doorway {
  package static let interval = Micros(2_000_000)
  /// If the usual port is taken, so many after it are tried before any free one.
  package static let nextPorts: UInt16 = 16

  /// What is tried when `port` is taken and `first` was wanted; 0: any free one.
  package static func port(after port: UInt16, wanted first: UInt16) -> UInt16 {
    port - first < nextPorts && port < UInt16.max ? port + 1 : 0
  }

  /// Nil while this machine has the address. A socket alone would not tell.
  package static func loss(of host: Address) -> OpenFailure? {
    guard !host.isLoopback, !host.isEvery else { return nil }
    do throws(OpenFailure) {
      _ = try DatagramSocket(bindingTo: Endpoint(host, port: 0))
      return nil
    } catch {
      return error.code == EADDRNOTAVAIL ? error : nil
    }
  }

  /// Nobody asked for IPv6's loopback, and a machine may be without.
  package static func isMissed(_ host: Address, _ failure: OpenFailure) -> Bool {
    !host.isLoopback || !host.isIPv6
      || (failure.code != EAFNOSUPPORT && failure.code != EADDRNOTAVAIL)
  }
}
