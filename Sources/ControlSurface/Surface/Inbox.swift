// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import OSC

/// Datagrams that were read and wait to be looked at. Reading is cheap and looking is not: what would fill the kernel's
/// buffer, where the first to come takes all, is sorted here.
///
/// Strangers, of whom there may be thousands, for any address can be forged, have a line of their own with a room and a
/// share of the thread of its own: nobody else is ever behind them.
struct Inbox {
  struct Letter: Comparable {
    let datagram: [UInt8]
    let peer: Peer
    let isStrangers: Bool
    /// Of a port that has been heard before.
    let isRegular: Bool
    let came: Micros
    /// At most.
    let expected: Int
    /// What its port will have cost, as if all ports of its host had begun together; of equals, the first to come is first.
    let place: Double
    let number: Int

    var size: Int { SurfaceLimits.letter + datagram.count }

    static func < (left: Letter, right: Letter) -> Bool {
      (left.place, left.number) < (right.place, right.number)
    }
    static func == (left: Letter, right: Letter) -> Bool { left.number == right.number }
  }

  /// Ours, then the strangers'.
  private var lines: [InboxLine]

  init(at now: Micros = .zero) { lines = [Cost.ours, Cost.strangers].map { InboxLine($0, at: now) } }

  var dropped: Int { lines.reduce(0) { $0 + $1.dropped } }
  var count: Int { lines.reduce(0) { $0 + $1.count } }
  var isEmpty: Bool { count == 0 }
  var bytes: Int { lines.reduce(0) { $0 + $1.bytes } }

  mutating func put(
    _ datagram: UnsafeRawBufferPointer, from peer: Peer, standing: Standing, at now: Micros
  ) {
    // A browser that may only watch stays among them also when it is told something: it takes no turn of who may play.
    let isStrangers = standing == .stranger || peer.isBrowser && !peer.isPairedBrowser
    lines[isStrangers ? 1 : 0].put(datagram, from: peer, isStrangers: isStrangers, at: now)
  }

  mutating func put(_ datagram: [UInt8], from peer: Peer, standing: Standing, at now: Micros) {
    datagram.withUnsafeBytes { put($0, from: peer, standing: standing, at: now) }
  }

  /// nil: nothing waits, or it has to wait until the most that it may cost is there. So nobody waits for a debt.
  mutating func next(at now: Micros) -> Letter? { lines[0].next(at: now) ?? lines[1].next(at: now) }

  /// What looking at it came to.
  mutating func charge(_ cost: Int, for letter: Letter, at now: Micros) {
    lines[letter.isStrangers ? 1 : 0].charge(cost, for: letter, at: now)
  }

  /// When the first in turn can be looked at.
  var deadline: Micros? { lines.compactMap(\.deadline).min() }
}

extension Peer {
  /// Whose costs they are: this machine has many names.
  var host: Address { endpoint.address.isLoopback ? .loopback : endpoint.address }
}
