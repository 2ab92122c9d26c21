// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import OSC

/// A browser's connection. It is a controller like any other, but it has shown who it is, or has not and may only watch; nobody can
/// speak in its name; and what it subscribed ends with it.
package struct Browser: Hashable, Sendable {
  /// No two connections have the same.
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

  /// For people.
  var words: String { isBrowser ? "the browser at \(endpoint.address)" : "OSC from \(endpoint)" }

  /// Whose word keeps whose subscription: any of a host, but a browser's only its own.
  func isKin(of other: Peer) -> Bool {
    isBrowser || other.isBrowser ? self == other : endpoint.address == other.endpoint.address
  }
}

extension Micros {
  /// A subscription that only its owner ends.
  static let longest = Micros(Int64.max / 4)
}

extension SurfaceMachine {
  /// The connection has ended, and with it what it subscribed.
  mutating func gone(_ peer: Peer, clocks: Clocks) {
    self.clocks = clocks
    browsers.remove(peer)
    guard let index = subscribers.firstIndex(where: { $0.target == peer }) else { return }
    drop(index, why: "its connection has ended")
  }
}

/// What browsers said, until the surface's thread takes it: of each so much and no more.
struct BrowserMail: Sendable {
  enum Item {
    case packet([UInt8], Peer)
    case gone(Peer)
  }

  private var items: [Item] = []
  private var waiting: [Peer: Int] = [:]
  private(set) var dropped = 0

  var isEmpty: Bool { items.isEmpty }
  /// Only packets, which can wait.
  private(set) var canWait = true

  /// False: it was dropped.
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

  mutating func take() -> [Item] {
    defer {
      items.removeAll(keepingCapacity: true)
      waiting.removeAll(keepingCapacity: true)
      canWait = true
    }
    return items
  }
}
