// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusOSC

/// A browser's connection: a controller whose sender cannot be forged. It is paired, or may only watch. Its
/// subscription ends with the connection.
package struct Browser: Hashable, Sendable {
  /// A number that no other connection has.
  package let number: Int
  package let isPaired: Bool

  package init(number: Int, isPaired: Bool) {
    self.number = number
    self.isPaired = isPaired
  }
}

extension Peer {
  package var isBrowser: Bool { browser != nil }
  package var isPairedBrowser: Bool { browser?.isPaired == true }
  package var browserNumber: Int? { browser?.number }

  var kind: String { isBrowser ? "browser" : "controller" }

  /// The peer in words for people.
  var words: String { isBrowser ? "the browser at \(endpoint.address)" : "OSC from \(endpoint)" }

  /// Whether a packet from this peer keeps the subscription of `other` alive. For a controller, any packet
  /// from the same host does; for a browser, only the browser's own packets do.
  func isKin(of other: Peer) -> Bool {
    isBrowser || other.isBrowser ? self == other : endpoint.address == other.endpoint.address
  }
}

extension Micros {
  /// The lease of a subscription that only its subscriber ends.
  static let longest = Micros(Int64.max / 4)
}

extension SurfaceMachine {
  /// Call this when the browser's connection has ended: its subscription ends, too.
  mutating func gone(_ peer: Peer, clocks: Clocks) {
    self.clocks = clocks
    browsers.remove(peer)
    guard let index = subscribers.firstIndex(where: { $0.target == peer }) else { return }
    drop(index, why: "its connection has ended")
  }
}

/// Holds browsers' packets until the surface's thread takes them, with a limit for each browser.
struct BrowserMail: Sendable {
  enum Item {
    case packet([UInt8], Peer)
    case gone(Peer)
  }

  private var items: [Item] = []
  private var waiting: [Peer: Int] = [:]
  private(set) var dropped = 0

  var isEmpty: Bool { items.isEmpty }
  /// Whether nothing but packets wait. If a connection has ended, the surface must handle that at
  /// once.
  private(set) var canWait = true

  /// Puts a packet into the mail. Returns false if the packet was dropped.
  mutating func put(_ packet: [UInt8], from peer: Peer) -> Bool {
    let count = waiting[peer, default: 0]
    guard count < SurfaceLimits.browserPackets else {
      dropped += 1
      return false
    }
    waiting[peer] = count + 1
    items.append(.packet(packet, peer))
    return true
  }

  mutating func end(_ peer: Peer) {
    items.append(.gone(peer))
    canWait = false
  }

  mutating func drain() -> [Item] {
    defer {
      items.removeAll(keepingCapacity: true)
      waiting.removeAll(keepingCapacity: true)
      canWait = true
    }
    return items
  }
}
