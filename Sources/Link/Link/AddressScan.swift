// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
internal import LinkAddresses
internal import LinkBeatMath
internal import LinkSession
internal import LinkSystem

/// Scans this machine's addresses and opens sockets on them. Both take time, so the network thread does them
/// without the lock that app threads wait for.
enum AddressScan {
  struct Found: Sendable {
    /// The networks of the wanted interfaces.
    var neighbours: Neighbourhood
    /// The networks of all interfaces.
    var machine: Neighbourhood
    /// The addresses to use, and the addresses over the limit, which are not used.
    var used, left: ArraySlice<LocalAddress>
  }

  enum Opened: Sendable {
    case open(GatewaySockets)
    case refused(LocalAddress, SystemFailure)
  }

  /// Looks at interfaces that are up and wanted (`wanted` is nil: all). Only interfaces with a carrier get
  /// gateways, but `neighbours` has the networks of all of them. Fails if no descriptor is free.
  static func scan(on wanted: Set<String>?) throws(SystemFailure) -> Found {
    guard let interfaces = Interface.up() else { throw SystemFailure(call: "getifaddrs", code: errno) }
    let chosen = interfaces.filter { wanted?.contains($0.name) ?? true }
    let (used, left) = LocalAddress.gateways(on: chosen.filter(\.isRunning), limit: Limits.gateways)
    return Found(
      neighbours: Neighbourhood(chosen), machine: Neighbourhood(interfaces), used: used, left: left)
  }

  static func open(_ local: LocalAddress, as id: GatewayID) -> Opened {
    do throws(SystemFailure) {
      return .open(try GatewaySockets(local, id: id))
    } catch {
      return .refused(local, error)
    }
  }
}

// How the results of a scan reach the engine.
extension Engine {
  /// Returns whether a scan is due. The scan runs without the lock, in three steps: `scan`; `learn`; then
  /// `open` for each address that `learn` returns, and `adopt` the results.
  mutating func beginScan(isNews: Bool, at now: Micros) -> Bool {
    guard gateways.isScanDue(isNews: isNews, at: now) else { return false }
    gateways.beginScan(at: now)
    return true
  }

  /// Notes that the scan failed; the known addresses stay.
  mutating func learn(_ failure: SystemFailure) {
    if session.isEnabled { gateways.learn(failure) }
  }

  /// Closes gateways that are no longer needed. Returns the addresses to open.
  mutating func learn(_ found: AddressScan.Found, at now: Micros) -> [(LocalAddress, GatewayID)] {
    guard session.isEnabled else { return [] }
    for gateway in gateways.learn(found, at: now) {
      // The session learns of the closing before the sockets close, so that it can still say goodbye.
      feed(.gatewayClosed(gateway.id), at: now)
      close(gateway)
    }
    return gateways.missing(of: found.used)
  }

  /// Takes over the opened sockets. If Link was disabled meanwhile, they are closed when these values are
  /// released.
  mutating func adopt(_ opened: [AddressScan.Opened]) {
    guard session.isEnabled else { return }
    gateways.adopt(opened)
    for case .open(let gateway) in opened {
      feed(.gatewayOpened(gateway.description), at: HostClock.micros())
    }
    tellAudio()
  }
}
