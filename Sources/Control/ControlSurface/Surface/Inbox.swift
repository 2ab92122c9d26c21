// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import TactusOSC

/// Queue of datagrams that were read and wait to be handled. Reading is cheap and handling is not, so
/// datagrams are read at once and ordered here. In the kernel's buffer the first sender to fill it would take
/// all.
///
/// Any source address can be forged, so there may be thousands of strangers. Each level of trust has a line
/// of its own, with its own limits and its own share of the thread's time: no sender waits behind one that is
/// trusted less.
struct Inbox {
  struct QueuedPacket {
    let datagram: [UInt8]
    let peer: Peer
    let trust: Trust
    let source: Endpoint
    /// The source has been heard before.
    let isKnown: Bool
    let came: Micros
    /// Upper limit of the letter's cost.
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
    // A browser that only watches counts as a stranger even if it is subscribed, so that it takes no turn
    // from browsers that may play.
    let trust = peer.isBrowser && !peer.isPairedBrowser ? .stranger : trust
    // Programs of this machine share its address. A stranger may have any number of ports.
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

  /// The next packet to be handled; nil if none waits, or if no sender whose packets wait has budget enough
  /// for the first of them. So a budget hardly goes below zero, and no sender waits for another sender's
  /// debt.
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

  /// Charges the letter's host with the cost of handling it.
  mutating func charge(_ cost: Int, for letter: QueuedPacket, at now: Micros) {
    gate.charge(Double(Cost.letter + cost), to: letter.trust, at: now)
    // A busy moment without a flood must not count against the source for long.
    gate.charge(
      Double(Cost.letter + min(cost, Cost.datagram)), to: letter.source, mostDebt: Cost.ahead.atOnce, at: now)
  }

  /// When the next letter can be handled.
  var deadline: Micros? {
    Trust.allCases.compactMap { trust in
      lines[trust.rawValue].first.map { gate.time(of: $0.expected, trust) }
    }.min()
  }
}

extension Peer {
  /// The host to which costs are charged: all loopback addresses count as one.
  var host: Address { endpoint.address.isLoopback ? .loopback : endpoint.address }
}
