// SPDX-License-Identifier: GPL-2.0-or-later
import ControlSurface
import OSC
import TerminalView

extension Reach {
  /// What a tablet on the network can send to, if the surface listens at these.
  init(_ endpoints: [Endpoint]) {
    guard let first = endpoints.first else {
      self = .off
      return
    }
    let port = Int(first.port)
    let open = endpoints.filter { !$0.host.isLoopback }
    guard !open.isEmpty else {
      self = .thisMachine(port: port)
      return
    }
    var shown: [String] = []
    for endpoint in open {
      if endpoint.host.isEvery {
        shown += Self.addresses(ofFamilyOf: endpoint.host).map {
          Endpoint($0, port: endpoint.port).description
        }
      } else {
        shown.append(endpoint.description)
      }
    }
    self = .network(shown, port: port)
  }

  /// Of the interfaces that run, loopback left out, and what needs a scope: nobody types that.
  private static func addresses(ofFamilyOf host: Host) -> [Host] {
    var found: [Host] = []
    for ours in NetworkInterface.running.map(\.host)
    where (ours.ipv4 == nil) == (host.ipv4 == nil) && !ours.isLoopback && ours.scope == 0
      && !found.contains(ours)
    {
      found.append(ours)
    }
    return found
  }
}
