// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusOSC

// Decides which senders are obeyed, and which changes last beyond this run. OSC has no passwords, so only
// addresses can be checked.
extension SurfaceSettings {
  /// Whether a host is obeyed, by OSC, by OSCQuery and by the page. Unless `allow` says otherwise, hosts on
  /// this machine's networks are obeyed. If the socket listens at one specific address, a packet is obeyed
  /// only if it came through the interface with that address.
  ///
  /// - Parameter listening: the listening address; nil: the socket belongs to a controller that `targets`
  /// names.
  /// - Parameter way: the interface through which the packet came; nil: the kernel does not say.
  package func obeys(_ host: Address, at listening: Address?, by way: UInt32?, near: Neighbourhood) -> Bool {
    if near.isOwn(host) { return true }
    if let listening, !listening.isEvery, let way, !near.has(listening, by: way) { return false }
    guard allow.isEmpty, listening != nil else {
      return (allow.isEmpty || allow.contains { $0.contains(host) })
        && (way.map { near.canReachUs(host, by: $0) } ?? true)
    }
    // Only programs on this machine can send to a loopback address.
    return way.map { near.hasNeighbour(host, by: $0) }
      ?? (listening?.isLoopback == true || near.contains(host))
  }
}

extension Trust {
  /// The part of a socket's send buffer that is kept free for senders that are trusted more.
  var leaves: Double {
    switch self {
    case .stranger: 0.75
    case .known: 0.5
    case .trusted: 0
    }
  }
}

extension SurfaceMachine {
  /// How far a peer is trusted. A subscriber is known; if it has proven that it receives our packets, it is
  /// trusted.
  func trust(in peer: Peer) -> Trust {
    if isPaired(peer) { return .trusted }
    let own = subscribers.filter { $0.target.isKin(of: peer) }
    if peer.isBrowser { return own.isEmpty ? .stranger : .known }
    return own.contains(where: \.hears) ? .trusted : own.isEmpty ? .stranger : .known
  }

  func obeys(_ peer: Peer) -> Bool {
    // A browser's rights were checked when the browser connected.
    if peer.isBrowser { return browsers.contains(peer) }
    let listening = settings.listen.indices.contains(peer.socket) ? settings.listen[peer.socket].address : nil
    return settings.obeys(
      peer.endpoint.address, at: listening, by: peer.arrival?.interface, near: neighbourhood)
  }

  /// Whether the peer is this machine or a controller that the user named. Changes by other peers are
  /// forgotten when the program ends.
  func isPaired(_ peer: Peer) -> Bool {
    if let browser = peer.browser { return browser.isPaired }
    let host = peer.endpoint.address
    if peer == .midi || peer == .keys || neighbourhood.isOwn(host) { return true }
    // A packet that comes through another network may have a forged address of this network.
    if let way = peer.arrival?.interface, !neighbourhood.canReachUs(host, by: way) { return false }
    return settings.allow.contains { $0.contains(host) }
      || settings.targets.contains { $0.endpoint.address == host }
  }

  mutating func refuseStranger(_ peer: Peer) {
    // The packets may come from a connection that has ended meanwhile.
    guard !peer.isBrowser else { return }
    counters.strangers += 1
    note(.stranger(peer.endpoint.address, areNamed: !settings.allow.isEmpty))
  }

  // MARK: another tactus

  /// Whether the sender is another tactus that sends us its values (with --osc-send), or a program that
  /// sends our values back. We do not obey such a datagram and ask the sender whether it is a tactus. After
  /// the answer "yes", we obey nothing from this sender.
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
    // Answer the sender's pings all the same: it may want to know what we are.
    for message in messages
    where Table.path(of: message.address) == Verb.ping.rawValue && allowance.trySpend(Cost.answer) {
      pong(message.arguments, to: peer, dialect: .own)
    }
    return true
  }

  /// Whether the message proves that `source` is a tactus, which answers our ping, or a program that sends
  /// our ping back.
  private func isProof(_ message: Message, of source: Endpoint) -> Bool {
    guard let path = Table.path(of: message.address), path == "ping" || path == "pong" else { return false }
    return message.arguments.last == .string(proof(of: source))
  }

  /// Whether only a surface sends such a message: no button or fader sends a text or several numbers to a
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
