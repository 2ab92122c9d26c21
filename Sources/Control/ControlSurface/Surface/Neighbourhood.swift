// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import TactusOSC

// Which senders are obeyed, and whose changes outlive the program. OSC has no passwords: only addresses can
// be checked.
extension SurfaceSettings {
  /// Whether a host is obeyed, by OSC, by OSCQuery and by the page. Unless `allow` says otherwise, hosts on
  /// the networks of this machine are. At a specific listening address only packets through the interface
  /// with that address count.
  ///
  /// - Parameter listening: nil at the socket of a controller that `targets` names.
  /// - Parameter way: the interface that a packet came by; nil if the kernel does not say.
  package func obeys(_ host: Address, at listening: Address?, by way: UInt32?, near: Neighbourhood) -> Bool {
    if near.isOwn(host) { return true }
    if let listening, !listening.isEvery, let way, !near.has(listening, by: way) { return false }
    guard allow.isEmpty, listening != nil else {
      return (allow.isEmpty || allow.contains { $0.contains(host) })
        && (way.map { near.canReachUs(host, by: $0) } ?? true)
    }
    // Only this machine reaches a loopback address.
    return way.map { near.hasNeighbour(host, by: $0) }
      ?? (listening?.isLoopback == true || near.contains(host))
  }
}

extension Trust {
  /// Part of a socket's buffer that is kept free for senders that are trusted more.
  var leaves: Double {
    switch self {
    case .stranger: 0.75
    case .known: 0.5
    case .trusted: 0
    }
  }
}

extension SurfaceMachine {
  /// A subscriber is known; its proof that it receives our packets makes it trusted.
  func trust(in peer: Peer) -> Trust {
    if isPaired(peer) { return .trusted }
    let own = subscribers.filter { $0.target.isKin(of: peer) }
    if peer.isBrowser { return own.isEmpty ? .stranger : .known }
    return own.contains(where: \.hears) ? .trusted : own.isEmpty ? .stranger : .known
  }

  func obeys(_ peer: Peer) -> Bool {
    // Whether a browser may connect was decided when it connected.
    if peer.isBrowser { return browsers.contains(peer) }
    let listening = settings.listen.indices.contains(peer.socket) ? settings.listen[peer.socket].address : nil
    return settings.obeys(
      peer.endpoint.address, at: listening, by: peer.arrival?.interface, near: neighbourhood)
  }

  /// Whether the peer is this machine or a controller that the user named. What others set ends with the
  /// program.
  func isPaired(_ peer: Peer) -> Bool {
    if let browser = peer.browser { return browser.isPaired }
    let host = peer.endpoint.address
    if peer == .midi || peer == .keys || neighbourhood.isOwn(host) { return true }
    // A packet that comes through another network may carry a forged address of this one.
    if let way = peer.arrival?.interface, !neighbourhood.canReachUs(host, by: way) { return false }
    return settings.allow.contains { $0.contains(host) }
      || settings.targets.contains { $0.endpoint.address == host }
  }

  mutating func refuseStranger(_ peer: Peer) {
    // A connection that has ended meanwhile may have left packets.
    guard !peer.isBrowser else { return }
    counters.strangers += 1
    note(.stranger(peer.endpoint.address, areNamed: !settings.allow.isEmpty))
  }

  // MARK: another tactus

  /// Whether the sender is another tactus that sends us its values (its --osc-send), or a program that echoes
  /// ours. We do not obey such a datagram, and ask its sender what it is. Once it answers that it is a
  /// tactus, we obey nothing from it.
  mutating func isTelling(_ peer: Peer, _ messages: [Message]) -> Bool {
    let source = peer.endpoint
    if messages.contains(where: { isProof($0, of: source) }), tellers.know(source, at: now) {
      note(.anotherTactus(source))
    }
    let isTold = messages.contains(where: isTold)
    if isTold, tellers.suspect(source, at: now) {
      send(Message(Table.address("ping"), .string(proof(of: source))), to: peer)
    }
    guard isTold || tellers.silences(source, at: now) else { return false }
    // Answer its pings all the same: it may want to know what we are.
    for message in messages
    where Table.path(of: message.address) == Verb.ping.rawValue && allowance.trySpend(Cost.answer) {
      pong(message.arguments, to: peer, dialect: .own)
    }
    return true
  }

  /// A tactus answers our ping; a program that echoes sends the ping itself back.
  private func isProof(_ message: Message, of source: Endpoint) -> Bool {
    guard let path = Table.path(of: message.address), path == "ping" || path == "pong" else { return false }
    return message.arguments.last == .string(proof(of: source))
  }

  /// Whether only a surface sends such a message: no button or fader sends text or several numbers to a
  /// read-out.
  private func isTold(_ message: Message) -> Bool {
    guard let row = Table.path(of: message.address).flatMap(table.row) else { return false }
    switch row.kind {
    case .answer: return true
    case .reading, .feed:
      guard row.fits(message.arguments.count), let first = message.arguments.first else {
        return false
      }
      if case .string = first { return true }
      return message.arguments.count > 1
    case .value, .trigger, .order, .verb: return false
    }
  }
}
