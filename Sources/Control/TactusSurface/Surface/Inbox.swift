// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusOSC

/// The queue of datagrams that were read but not handled yet. Reading costs little and handling costs much,
/// so all datagrams are read at once and put into order here. Otherwise the first sender that fills the
/// kernel's buffer would keep all others out.
///
/// Any source address can be forged, so there may be thousands of strangers. Each level of trust has a queue
/// of its own, with its own limits and its own share of the thread's time. So no sender waits behind a sender
/// that is trusted less.
struct Inbox {
  struct QueuedPacket {
    let datagram: [UInt8]
    let peer: Peer
    let trust: Trust
    let source: Endpoint
    /// Whether a datagram of this source has come before.
    let isKnown: Bool
    let came: Micros
    /// The highest cost that handling the datagram can have.
    let expected: Double

    var size: Int { SurfaceLimits.letter + datagram.count }
  }

  private var lines = Trust.allCases.map { _ in InboxLine() }
  private var gate: InputGate<Endpoint>

  init(at now: Micros = .zero) {
    gate = InputGate(
      Cost.share(of:), ofSource: Cost.ahead, most: SurfaceLimits.sources,
      memoryOfReturned: SurfaceLimits.reservedMemory, at: now)
  }

  var dropped: Int { lines.reduce(0) { $0 + $1.dropped } }
  var count: Int { lines.reduce(0) { $0 + $1.count } }
  var isEmpty: Bool { count == 0 }
  var bytes: Int { lines.reduce(0) { $0 + $1.bytes } }

  mutating func put(_ datagram: UnsafeRawBufferPointer, from peer: Peer, trust: Trust, at now: Micros) {
    // A browser that may only watch counts as a stranger even if it is subscribed, so that it takes no turn
    // from browsers that may also play.
    let trust = peer.isBrowser && !peer.isPairedBrowser ? .stranger : trust
    // Programs on this machine share its address, so their ports distinguish them. A stranger's ports do not
    // count, since a stranger may have any number of them.
    let source = trust == .trusted ? peer.endpoint : Endpoint(peer.host, port: 0)
    let recent = gate.recall(source, at: now)
    let expected = max(Double(Cost.expected(datagram)), recent?.last ?? 0)
    let letter = QueuedPacket(
      datagram: [UInt8](datagram), peer: peer, trust: trust, source: source, isKnown: recent != nil,
      came: now, expected: expected)
    lines[trust.rawValue].put(letter, mayGoAhead: recent.map { $0.left >= expected } ?? false)
  }

  mutating func put(_ datagram: [UInt8], from peer: Peer, trust: Trust, at now: Micros) {
    datagram.withUnsafeBytes { put($0, from: peer, trust: trust, at: now) }
  }

  /// The next datagram to handle. nil: none waits, or each one costs more than its sender has left.
  /// Therefore a sender's budget hardly falls below zero, and one sender's debt does not make another
  /// sender wait.
  mutating func next(at now: Micros) -> QueuedPacket? {
    for trust in Trust.allCases.reversed() {
      lines[trust.rawValue].dropOld(at: now)
      guard let first = lines[trust.rawValue].first, gate.has(trust, cost: first.expected, at: now) else {
        continue
      }
      return lines[trust.rawValue].removeFirst()
    }
    return nil
  }

  /// Charges the datagram's source with the cost of handling the datagram.
  mutating func charge(_ cost: Int, for letter: QueuedPacket, at now: Micros) {
    gate.charge(Double(Cost.letter + cost), to: letter.trust, at: now)
    // Limit the debt: a busy moment without a flood must not count against the source for long.
    gate.charge(
      Double(Cost.letter + min(cost, Cost.datagram)), to: letter.source, mostDebt: Cost.ahead.atOnce, at: now)
  }

  /// When the next datagram can be handled.
  var deadline: Micros? {
    Trust.allCases.compactMap { trust in
      lines[trust.rawValue].first.map { gate.time(of: $0.expected, trust) }
    }.min()
  }
}

extension Peer {
  /// The host to which costs are charged: all loopback addresses count as one host.
  var host: Address { endpoint.address.isLoopback ? .loopback : endpoint.address }
}
