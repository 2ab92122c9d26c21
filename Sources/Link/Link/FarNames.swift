// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
internal import LinkAddresses
internal import LinkBeatMath
internal import LinkSystem
import Synchronization

/// Resolves host names with the system's resolver, which may take half a minute, on one thread for each name.
final class FarNames: Sendable {
  private struct Name {
    let host: FarHost
    var isAsked = false
    var next = Micros.zero
    var found: [Endpoint]?
  }

  private let names: Mutex<[Name]>
  /// Wakes the network thread when a name was resolved.
  private let bell = WakeUp()

  /// Interval of new lookups: the name of a room that does not answer may have a new address.
  static var period: Micros { Micros(10_000_000) }

  init(_ hosts: [FarHost]) {
    names = Mutex(hosts.map { Name(host: $0) })
    // If the pair of sockets cannot be opened, a resolved name waits for the network thread's next turn.
    try? bell.open()
  }

  var descriptor: Int32 { bell.descriptor }

  /// Starts a lookup of a room's host name, unless a lookup began within `period`. An address needs no
  /// lookup.
  func ask(_ number: Int, at now: Micros) {
    let host = names.withLock { names -> FarHost? in
      guard names.indices.contains(number), !names[number].isAsked, names[number].next <= now else {
        return nil
      }
      names[number].next = now + Self.period
      let host = names[number].host
      if let address = Address(host.host) {
        names[number].found = [Endpoint(address, port: host.port)]
        return nil
      }
      names[number].isAsked = true
      return host
    }
    guard let host else { return }
    let thread = try? Thread("names") { [self] in
      let found = Endpoint.named(host.host, port: host.port)
      names.withLock {
        $0[number].isAsked = false
        $0[number].found = found
      }
      bell.signal()
    }
    if let thread { thread.detach() } else { names.withLock { $0[number].isAsked = false } }
  }

  /// Returns the lookups that were finished since the last call.
  func drain() -> [(number: Int, addresses: [Endpoint])] {
    bell.drain()
    return names.withLock { names in
      names.indices.compactMap { number in
        guard let found = names[number].found else { return nil }
        names[number].found = nil
        return (number, found)
      }
    }
  }
}
