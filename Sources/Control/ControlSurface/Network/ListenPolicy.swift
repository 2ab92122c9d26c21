// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Glibc
import LinkAddresses
import TactusOSC

/// Rules for every listening address, for controllers (`OSCListeners`) and for browsers: how often we look at
/// it again, which ports we try, when it is lost, and which missing address is no failure.
package enum ListenPolicy {
  package static let interval = Micros(2_000_000)
  /// If the usual port is taken, we try this many ports after it before any free one.
  package static let nextPorts: UInt16 = 16

  /// The next port to try if `port` is taken and `first` was wanted. 0: any free one.
  package static func port(after port: UInt16, wanted first: UInt16) -> UInt16 {
    port - first < nextPorts && port < UInt16.max ? port + 1 : 0
  }

  /// Returns nil while this machine has the address. A socket that is already open reports no loss, so we
  /// bind a new one.
  package static func loss(of host: Address) -> OpenFailure? {
    guard !host.isLoopback, !host.isEvery else { return nil }
    do throws(OpenFailure) {
      _ = try DatagramSocket(bindingTo: Endpoint(host, port: 0))
      return nil
    } catch {
      return error.code == EADDRNOTAVAIL ? error : nil
    }
  }

  /// Whether a failure is worth reporting. IPv6's loopback is listened on without being asked for, and some
  /// machines have none.
  package static func isMissed(_ host: Address, _ failure: OpenFailure) -> Bool {
    !host.isLoopback || !host.isIPv6
      || (failure.code != EAFNOSUPPORT && failure.code != EADDRNOTAVAIL)
  }
}
