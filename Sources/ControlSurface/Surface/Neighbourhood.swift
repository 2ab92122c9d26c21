// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import OSC

// Who is obeyed, and whose word outlives the program. OSC has no passwords: addresses are all that there is.
extension SurfaceSettings {
  /// By OSC, by OSCQuery and by the page: the networks that this machine is on, unless `allow` says otherwise; by the interface that has
  /// the address where the surface listens.
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

/// Who comes first where there is not enough for all.
enum Standing: Comparable {
  /// Of these there may be thousands, for any source can be forged.
  case stranger
  /// Is being told, as one of `SurfaceLimits.subscribers` at most, and may not hear us.
  case guest
  /// This machine, whom its user named, and who has shown that it hears us.
  case known

  /// The part of a socket's room that is kept free for those who come before it.
  var leaves: Double {
    switch self {
    case .stranger: 0.75
    case .guest: 0.5
    case .known: 0
    }
  }
}

extension SurfaceMachine {
  func standing(of peer: Peer) -> Standing {
    if isPaired(peer) { return .known }
    let own = subscribers.filter { $0.target.isKin(of: peer) }
    if peer.isBrowser { return own.isEmpty ? .stranger : .guest }
    return own.contains(where: \.hears) ? .known : own.isEmpty ? .stranger : .guest
  }

  func obeys(_ peer: Peer) -> Bool {
    // Who may connect has been judged where it did.
    if peer.isBrowser { return browsers.contains(peer) }
    let listening = settings.listen.indices.contains(peer.socket) ? settings.listen[peer.socket].address : nil
    return settings.obeys(
      peer.endpoint.address, at: listening, by: peer.arrival?.interface, near: neighbourhood)
  }

  /// This machine, and the controllers that its user named. What others set holds as long as the program runs.
  func isPaired(_ peer: Peer) -> Bool {
    if let browser = peer.browser { return browser.isPaired }
    let host = peer.endpoint.address
    if peer == .midi || peer == .keys || neighbourhood.isOwn(host) { return true }
    // Anyone on another network can write its address on a packet.
    if let way = peer.arrival?.interface, !neighbourhood.canReachUs(host, by: way) { return false }
    return settings.allow.contains { $0.contains(host) }
      || settings.targets.contains { $0.endpoint.address == host }
  }

  mutating func refuseStranger(_ peer: Peer) {
    // What a connection said that has ended meanwhile.
    guard !peer.isBrowser else { return }
    counters.strangers += 1
    note(.stranger(peer.endpoint.address, areNamed: !settings.allow.isEmpty))
  }

  // MARK: another tactus

  /// Another tactus that tells us what it shows, as its --osc-send says, or somebody who sends back what we tell. What such a
  /// datagram says is not obeyed; its sender is asked what it is, and from its answer on nothing of it is.
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
    // What we are it may hear all the same: it may ask because it doubts us.
    for message in messages
    where Table.path(of: message.address) == Verb.ping.rawValue && allowance.take(Cost.answer) {
      pong(message.arguments, to: peer, dialect: .own)
    }
    return true
  }

  /// A tactus answers our ping, an echo sends it back.
  private func isProof(_ message: Message, of source: Endpoint) -> Bool {
    guard let path = Table.path(of: message.address), path == "ping" || path == "pong" else { return false }
    return message.arguments.last == .string(proof(of: source))
  }

  /// Only a surface says this: no button and no fader sends text or several numbers to a read-out.
  private func isTold(_ message: Message) -> Bool {
    guard let row = Table.path(of: message.address).flatMap(table.row) else { return false }
    switch row.kind {
    case .answer: return true
    case .reading, .feed:
      guard message.arguments.count == row.parameters.count, let first = message.arguments.first else {
        return false
      }
      if case .string = first { return true }
      return message.arguments.count > 1
    case .value, .trigger, .order, .verb: return false
    }
  }
}
