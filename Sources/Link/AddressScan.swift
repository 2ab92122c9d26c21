// SPDX-License-Identifier: GPL-2.0-or-later
internal import Addresses
internal import BeatMath
import Glibc
internal import LinkSession
internal import Linux

/// A look at this machine's addresses, and the opening of sockets there: what takes its time, and so is done by the network thread
/// without the lock that app threads wait for.
enum AddressScan {
  struct Found: Sendable {
    /// The neighbourhood of the wanted interfaces.
    var neighbours: Neighbourhood
    /// The neighbourhood of all interfaces.
    var machine: Neighbourhood
    /// The addresses to be on, and those that are too many.
    var used, left: ArraySlice<LocalAddress>
  }

  enum Opened: Sendable {
    case open(GatewaySockets)
    case refused(LocalAddress, SystemFailure)
  }

  /// On interfaces that run, and are wanted (nil: all are). An interface without a carrier has the same
  /// neighbours as with one. It fails without a descriptor to ask with.
  static func look(on wanted: Set<String>?) throws(SystemFailure) -> Found {
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

// How a look around comes in.
extension Engine {
  /// Whether it is time to look at the machine's addresses, which is done without the lock, in three steps: look, `learn`, open
  /// what it gives, `take`.
  mutating func beginScan(isNews: Bool, at now: Micros) -> Bool {
    guard gateways.isScanDue(isNews: isNews, at: now) else { return false }
    gateways.beginScan(at: now)
    return true
  }

  /// The look around failed: what is known stays so.
  mutating func learn(_ failure: SystemFailure) {
    if session.isEnabled { gateways.learn(failure) }
  }

  /// Closes what is not needed any more. What is to be opened.
  mutating func learn(_ found: AddressScan.Found, at now: Micros) -> [(LocalAddress, GatewayID)] {
    guard session.isEnabled else { return [] }
    for gateway in gateways.learn(found, at: now) {
      // First, so that it says goodbye.
      feed(.gatewayClosed(gateway.id), at: now)
      close(gateway)
    }
    return gateways.missing(of: found.used)
  }

  /// Disabled meanwhile: then they close with the values.
  mutating func take(_ opened: [AddressScan.Opened]) {
    guard session.isEnabled else { return }
    gateways.take(opened)
    for case .open(let gateway) in opened {
      feed(.gatewayOpened(gateway.description), at: HostClock.micros())
    }
    tellAudio()
  }
}
