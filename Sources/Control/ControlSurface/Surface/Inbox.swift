// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import TactusOSC

/// Queue of datagrams that were read and wait to be handled. Reading is cheap and handling is not, so
/// datagrams are read at once and ordered here. In the kernel's buffer the first sender to fill it would take
/// all.
///
/// Any source address can be forged, so there may be thousands of strangers. They have a line of their own,
/// with its own limits and its own share of the thread's time: no other sender waits behind them.
struct Inbox {
  struct Letter: Comparable {
    let datagram: [UInt8]
    let peer: Peer
    let isStrangers: Bool
    /// Whether the sender's port has been heard before.
    let isRegular: Bool
    let came: Micros
    /// Upper limit of the letter's cost.
    let expected: Int
    /// Cost of its port including this letter, on a scale on which all ports of its host began together.
    /// Among equal places the first to arrive wins.
    let place: Double
    let number: Int

    var size: Int { SurfaceLimits.letter + datagram.count }

    static func < (left: Letter, right: Letter) -> Bool {
      (left.place, left.number) < (right.place, right.number)
    }
    static func == (left: Letter, right: Letter) -> Bool { left.number == right.number }
  }

  /// The line of known senders and guests, and the line of strangers.
  private var lines: [InboxLine]

  init(at now: Micros = .zero) { lines = [Cost.ours, Cost.strangers].map { InboxLine($0, at: now) } }

  var dropped: Int { lines.reduce(0) { $0 + $1.dropped } }
  var count: Int { lines.reduce(0) { $0 + $1.count } }
  var isEmpty: Bool { count == 0 }
  var bytes: Int { lines.reduce(0) { $0 + $1.bytes } }

  mutating func put(
    _ datagram: UnsafeRawBufferPointer, from peer: Peer, standing: Standing, at now: Micros
  ) {
    // A browser that only watches counts as a stranger even if it is subscribed, so that it takes no turn
    // from browsers that may play.
    let isStrangers = standing == .stranger || peer.isBrowser && !peer.isPairedBrowser
    lines[isStrangers ? 1 : 0].put(datagram, from: peer, isStrangers: isStrangers, at: now)
  }

  mutating func put(_ datagram: [UInt8], from peer: Peer, standing: Standing, at now: Micros) {
    datagram.withUnsafeBytes { put($0, from: peer, standing: standing, at: now) }
  }

  /// nil: nothing waits, or the budget does not yet cover the first letter's expected cost. So the budget
  /// hardly goes below zero, and no sender waits for another one's debt.
  mutating func next(at now: Micros) -> Letter? { lines[0].next(at: now) ?? lines[1].next(at: now) }

  /// Charges the letter's host with the cost of handling it.
  mutating func charge(_ cost: Int, for letter: Letter, at now: Micros) {
    lines[letter.isStrangers ? 1 : 0].charge(cost, for: letter, at: now)
  }

  /// When the next letter can be handled.
  var deadline: Micros? { lines.compactMap(\.deadline).min() }
}

extension Peer {
  /// The host to which costs are charged: all loopback addresses count as one.
  var host: Address { endpoint.address.isLoopback ? .loopback : endpoint.address }
}
