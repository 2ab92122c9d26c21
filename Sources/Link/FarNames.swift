// SPDX-License-Identifier: GPL-2.0-or-later
internal import Addresses
internal import BeatMath
import Glibc
internal import Linux
import Synchronization

/// Where hosts are, by the system's resolver, which may think for half a minute: on threads of their own, one for each name.
final class FarNames: Sendable {
  private struct Name {
    let host: FarHost
    var isAsked = false
    var next = Micros.zero
    var found: [Endpoint]?
  }

  private let names: Mutex<[Name]>
  /// Of a name that has an answer.
  private let bell = WakeUp()

  /// A name whose room is not heard may lead somewhere else by now.
  static var period: Micros { Micros(10_000_000) }

  init(_ hosts: [FarHost]) {
    names = Mutex(hosts.map { Name(host: $0) })
    // Without it an answer waits for the thread's next turn.
    try? bell.open()
  }

  var descriptor: Int32 { bell.descriptor }

  /// Asks for one, unless it was asked for lately. An address is its own answer.
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

  /// What has been found since.
  func take() -> [(number: Int, addresses: [Endpoint])] {
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
