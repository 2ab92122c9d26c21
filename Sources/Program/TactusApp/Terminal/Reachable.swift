// SPDX-License-Identifier: GPL-2.0-or-later
import LinkSystem
import TactusOSC
import TactusSurface
import TactusTerminal

extension Reach {
  /// The addresses to which a tablet on the network can send, if the surface listens at `endpoints`.
  init(_ endpoints: [Endpoint], isWanted: Bool) {
    guard let first = endpoints.first else {
      self = isWanted ? .closed : .off
      return
    }
    let port = Int(first.port)
    let open = endpoints.filter { !$0.address.isLoopback }
    guard !open.isEmpty else {
      self = .thisMachine(port: port)
      return
    }
    let shown = open.flatMap { endpoint in
      endpoint.address.isEvery
        ? Self.addresses(ofFamilyOf: endpoint.address).map { Endpoint($0, port: endpoint.port) } : [endpoint]
    }
    self = .network(shown.map(\.description), port: port)
  }

  /// The addresses of running interfaces. Loopback is left out, and so are addresses with a scope, which no
  /// user types. Real hardware comes first, because no phone is on a bridge for containers.
  static func addresses(ofFamilyOf host: Address) -> [Address] {
    var found: [Address] = []
    let running = (Interface.up() ?? []).filter(\.isRunning)
    for ours in (running.filter(\.isMakers) + running.filter { !$0.isMakers }).flatMap(\.addresses)
    where ours.isIPv6 == host.isIPv6 && !ours.isLoopback && !ours.isIPv6LinkLocal && !found.contains(ours) {
      found.append(ours)
    }
    return found
  }
}
