// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkAddresses
import LinkBeatMath
import TactusOSC

/// The rules for all listening addresses, for controllers (`OSCListeners`) and for browsers: how often an
/// address is checked, which ports are tried, when an address counts as lost, and which missing address
/// is not reported as a failure.
package enum ListenPolicy {
  package static let interval = Micros(2_000_000)
  /// If the usual port is taken, this many ports after it are tried before any free port.
  package static let nextPorts: UInt16 = 16

  /// The next port to try if `port` is taken; `first` is the port that was wanted. 0: any free port.
  package static func port(after port: UInt16, wanted first: UInt16) -> UInt16 {
    port - first < nextPorts && port < UInt16.max ? port + 1 : 0
  }

  /// Whether the address is lost; nil: this machine still has it. A socket that is already open reports no
  /// loss, so we bind a new one to find out.
  package static func loss(of host: Address) -> OpenFailure? {
    guard !host.isLoopback, !host.isEvery else { return nil }
    do throws(OpenFailure) {
      _ = try DatagramSocket(bindingTo: Endpoint(host, port: 0))
      return nil
    } catch {
      return error.code == EADDRNOTAVAIL ? error : nil
    }
  }

  /// Whether a failure is worth reporting. tactus listens on IPv6's loopback without being asked, and some
  /// machines have no such address.
  package static func isMissed(_ host: Address, _ failure: OpenFailure) -> Bool {
    !host.isLoopback || !host.isIPv6
      || (failure.code != EAFNOSUPPORT && failure.code != EADDRNOTAVAIL)
  }
}
