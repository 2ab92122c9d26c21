// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAddresses
import Synchronization
import TactusSurface
import TactusTestSupport
import Testing

@testable import TactusWeb

/// Another machine with many addresses, and the address at which that machine reaches the page.
struct Neighbours: Sendable {
  static let tactus = Address.v4(0x0a32_0001)
  /// The other machine's addresses, from 10.50.0.2 on.
  static let theirs = (2...32).map { Address.v4(0x0a32_0000 + UInt32($0)) }

  /// Runs `body` on that machine, with a studio at the other end of the cable. `body` runs on a thread of its
  /// own, in which `#expect` does not work.
  static func visit<Result: Sendable>(_ body: @escaping @Sendable (PageStudio) throws -> Result) throws
    -> Result
  {
    let (home, other) = (try PrivateNetwork(), try PrivateNetwork())
    try home.cable("wire", to: other, "cable")
    try home.ip("addr add 10.50.0.1/24 dev wire")
    try home.ip("link set wire up")
    for number in 2...32 { try other.ip("addr add 10.50.0.\(number)/24 dev cable") }
    try other.ip("link set cable up")
    let studio = try home.perform {
      let studio = try PageStudio(surface: [Endpoint(.v4(0), port: 0)])
      studio.web.open(toNetworks: true)
      return studio
    }
    defer { studio.close() }
    #expect(studio.wait { studio.web.endpoints.first?.address == .v4(0) })
    return try other.perform { try body(studio) }
  }
}

/// Browsers that only watch: from each of some addresses, opens the maximum of WebSockets and then one more,
/// again and again.
final class Watchers: Sendable {
  private let isOver = Atomic(false)
  private let count = Atomic(0)
  var opened: Int { count.load(ordering: .relaxed) }

  /// Keeps these browsers running during `body`.
  static func crowd<Result>(
    _ addresses: some Sequence<Address>, _ port: UInt16, _ body: (Watchers) throws -> Result
  ) rethrows -> Result {
    let watchers = Watchers()
    let workers = addresses.map { address in Worker { watchers.openConnections(from: address, port) } }
    defer {
      watchers.isOver.store(true, ordering: .relaxed)
      for worker in workers { worker.join() }
    }
    return try body(watchers)
  }

  private func openConnections(from address: Address, _ port: UInt16) {
    var sockets: [Phone] = []
    while !isOver.load(ordering: .relaxed) {
      guard let socket = try? Phone(port, isPaired: false, from: address, to: Neighbours.tactus) else {
        continue
      }
      count.add(1, ordering: .relaxed)
      sockets.append(socket)
      if sockets.count > WebLimits.ofOneHost { sockets.removeFirst() }
    }
  }
}
