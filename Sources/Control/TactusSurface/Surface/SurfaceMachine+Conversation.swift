// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusOSC

// Messages about the surface itself: ping, query, subscribe, unsubscribe, errors, bye.
extension SurfaceMachine {
  mutating func obey(
    _ verb: Verb, _ arguments: [Argument], from peer: Peer, dialect: Dialect
  ) throws(Refusal) {
    if verb == .ping || verb == .query, let strange = arguments.first(where: { !$0.isSendable }) {
      throw .type("text, not \(strange.words)")
    }
    switch verb {
    case .ping:
      try allowance.spend(Cost.answer)
      pong(arguments, to: peer, dialect: dialect)
    case .query: try query(arguments, from: peer)
    case .subscribe: try subscribe(arguments, from: peer, dialect: dialect)
    case .unsubscribe: try unsubscribe(arguments, from: peer)
    case .midiList: try listBindings(to: answerTarget(for: peer))
    case .audioList: try listChannels(arguments, to: answerTarget(for: peer))
    case .proof: try receiveProof(arguments, from: peer)
    }
  }

  mutating func pong(_ arguments: [Argument], to peer: Peer, dialect: Dialect) {
    if dialect == .klick {
      reply(Message("/klick/pong"), to: answerTarget(for: peer))
      return
    }
    let port = settings.listen.first?.port ?? 0
    let answer: [Argument] = [
      .string(Table.root), .string(settings.version), .int32(Int32(port)), .float64(Double(now.count)),
    ]
    reply(
      Message(Table.address("pong"), arguments: answer + arguments.prefix(4).filter(\.isSendable)),
      to: answerTarget(for: peer))
  }

  private mutating func query(_ arguments: [Argument], from peer: Peer) throws(Refusal) {
    var rows = Array(table.rows.indices.filter { table.rows[$0].isReadable })
    if case .string(let text)? = arguments.first, !text.isEmpty {
      guard text.utf8.count <= PacketCheck.addressLimit else {
        throw .range("at most \(PacketCheck.addressLimit) bytes")
      }
      rows = try self.rows(matching: text.hasPrefix("/") ? text : Table.address(text))
      rows = readable(rows, by: peer)
      guard !rows.isEmpty else { throw Refusal(.unknownAddress, "no address that has a value matches") }
    }
    try answer(rows, to: peer)
  }

  private mutating func subscribe(_ arguments: [Argument], from peer: Peer, dialect: Dialect) throws(Refusal)
  {
    try allowance.spend(Cost.picture)
    let wish = try SubscriptionWish(arguments, from: peer.endpoint)
    let target = try self.target(of: wish, from: peer)
    // A browser's subscription lasts as long as its connection.
    let lease = peer.isBrowser ? .longest : wish.lease.map { Micros(Int64($0) * 1_000_000) }
    let groups = wish.groups ?? (dialect == .ardour ? [.state, .position, .heartbeat] : .state)
    let asked = Subscriber(
      target: target, source: peer, groups: groups, dialect: dialect, lease: lease, heard: now,
      nextFlush: now)
    // A controller has one dialect. The same target with another dialect is still the same controller.
    if let index = subscribers.firstIndex(where: { $0.target == target }) {
      let changed = subscribers[index].groups != groups || subscribers[index].dialect != dialect
      subscribers[index].groups = groups
      subscribers[index].dialect = dialect
      subscribers[index].lease = lease
      subscribers[index].source = peer
      subscribers[index].target.arrival = peer.arrival
      subscribers[index].heard = now
      confirm(index)
      // Sending all again replaces what Wi-Fi has lost. Unproven targets do not get it, because their
      // addresses may be forged.
      let isDue = hears(target) && now >= (subscribers[index].dumped ?? .zero) + SurfaceLimits.dumpInterval
      if changed || isDue { dump(to: index) }
      return
    }
    let others = subscribers.count { $0.target.isBrowser == peer.isBrowser }
    if others >= SurfaceLimits.subscribers, !makeRoom(for: asked) {
      throw .refused("\(SurfaceLimits.subscribers) \(peer.kind)s are subscribed already")
    }
    welcome(asked)
  }

  mutating func welcome(_ subscriber: Subscriber) {
    applicants.removeAll { $0.target == subscriber.target }
    subscribers.append(subscriber)
    note(.subscribed(subscriber.target, groups: subscriber.groups.words))
    countSubscribers()
    confirm(subscribers.count - 1)
    dump(to: subscribers.count - 1)
  }

  private mutating func confirm(_ index: Int) {
    let subscriber = subscribers[index]
    guard subscriber.dialect == .own else { return }
    let lease = subscriber.target.isBrowser ? 0 : (subscriber.lease?.count ?? 0) / 1_000_000
    send(
      Message(
        Table.address("subscribed"), .int32(Int32(subscriber.target.endpoint.port)),
        .string(subscriber.groups.words), .int32(Int32(clamping: lease))), to: subscriber.target)
    challenge(index)
  }

  private mutating func unsubscribe(_ arguments: [Argument], from peer: Peer) throws(Refusal) {
    try allowance.spend(Cost.picture)
    let wish = try SubscriptionWish(arguments, from: peer.endpoint)
    let target = try self.target(of: wish, from: peer)
    guard
      let index = subscribers.firstIndex(where: {
        guard $0.target.isBrowser == peer.isBrowser else { return false }
        return wish.port == nil ? $0.source == peer : $0.target.endpoint == target.endpoint
      })
    else { throw Refusal(.notNow, "not subscribed") }
    leave(index, why: "unsubscribed")
  }

  /// The peer to which the subscription sends: for a browser, the browser's own connection.
  private func target(of wish: SubscriptionWish, from peer: Peer) throws(Refusal) -> Peer {
    guard peer.isBrowser else {
      var target = peer
      target.endpoint.port = wish.port ?? peer.endpoint.port
      return target
    }
    guard wish.port == nil else {
      throw .refused("a browser gets its values through its own connection: leave out the port")
    }
    guard browsers.contains(peer) else { throw .refused("this connection has ended") }
    return peer
  }

  mutating func leave(_ index: Int, why: String) {
    clear(index)
    drop(index, why: why)
  }

  /// Removes a subscriber without sending it anything.
  mutating func drop(_ index: Int, why: String) {
    let target = subscribers.remove(at: index).target
    note(.left(target, why: why))
    countSubscribers()
  }

  /// The number of subscribers without the controllers that the user named. Those controllers did not ask,
  /// and may be switched off.
  var guests: Int { subscribers.count { !settings.targets.contains($0.target) } }

  private mutating func countSubscribers() {
    reading.own.subscribers = subscribers.count
    tellChanges()
  }

  /// Keeps the subscriptions of this peer's host alive, as any packet from the host does.
  mutating func heard(from peer: Peer) {
    for index in subscribers.indices where subscribers[index].target.isKin(of: peer) {
      subscribers[index].heard = now
      subscribers[index].asked = nil
      if subscribers[index].source == peer { comeBack(index) }
    }
  }

  mutating func expireSubscribers() {
    for index in subscribers.indices.reversed() where now >= subscribers[index].ends {
      // A proven display may send nothing for a whole evening. Ask it to prove again that it listens, and do
      // not end its subscription.
      if subscribers[index].lease == nil, hears(subscribers[index].target) {
        subscribers[index].heard = now
        subscribers[index].hears = false
        challenge(index)
        continue
      }
      leave(
        index, why: subscribers[index].lease == nil ? "silent for an hour" : "its subscription has run out")
    }
  }

  /// Sets the total number of packets that were dropped unread because too many arrived.
  mutating func leftOut(_ total: Int) {
    guard total != counters.leftOut else { return }
    reading.own.errors += total - counters.leftOut
    counters.leftOut = total
    comparisonDue = comparisonDue ?? now + SurfaceLimits.flushInterval
  }

  /// Sends one clear error, to the sender alone, and at most five errors a second.
  mutating func refuse(_ refusal: Refusal, _ address: String, to peer: Peer, at target: Peer? = nil) {
    counters.refused += 1
    _ = allowance.trySpend(Cost.refusal)
    reading.own.errors += 1
    comparisonDue = comparisonDue ?? now + SurfaceLimits.flushInterval
    guard rates.mayReplyWithError(peer.endpoint, at: now) else { return }
    // The suggestion costs more than all the rest, so compute it only if the error is sent. All strangers
    // share one limit for suggestions.
    let advised = trust(in: peer) == .stranger ? .v4(0) : peer.host
    let refusal =
      refusal == .unknown && rates.mayBeAdvised(advised, at: now) && allowance.trySpend(Cost.suggestion)
      ? Refusal(.unknownAddress, refusal.text + suggestion(for: address)) : refusal
    let shown = printable(address, limit: 80)
    let name = Table.path(of: shown) ?? shown
    reply(
      Message(
        Table.address("error"), .string("\(name): \(refusal.text)"), .string(shown),
        .int32(refusal.code.rawValue)),
      to: target ?? answerTarget(for: peer))
    if let songBeingSaid {
      note(.songRefused("\(songBeingSaid): \(name): \(refusal.text)"))
    } else {
      note(.refused(refusal, address: shown, from: peer))
    }
  }

  /// Ends the surface: clears the display of every controller and sends bye.
  mutating func close(clocks: Clocks) {
    self.clocks = clocks
    for index in subscribers.indices {
      clear(index)
      send(Message(Table.address("bye")), to: subscribers[index].target)
    }
    subscribers = []
  }

  /// The peer to which answers go: the target of the sender's subscription if there is one, otherwise the
  /// sender itself.
  func answerTarget(for peer: Peer) -> Peer {
    if peer.isBrowser { return peer }
    if let own = subscribers.first(where: { $0.source == peer }) { return own.target }
    let neighbours = subscribers.filter { $0.target.endpoint == peer.endpoint && !$0.target.isBrowser }
    return neighbours.first?.target ?? peer
  }

  mutating func reply(_ message: Message, to peer: Peer) { reply(LibloCodec.encode(message), to: peer) }

  mutating func send(_ message: Message, to peer: Peer) {
    sendPacket(LibloCodec.encode(message), to: peer)
  }

  mutating func sendPacket(_ bytes: [UInt8], to peer: Peer) {
    guard maySend(peer, bytes: bytes.count) else { return }
    put(packet: bytes, to: peer)
  }

  mutating func put(packet: [UInt8], to peer: Peer) {
    counters.sent += 1
    put(.send(packet, to: peer))
  }
}

extension Argument {
  var isSendable: Bool {
    switch self {
    case .other: false
    case .int32, .int64, .float32, .float64, .string, .truth, .null, .impulse: true
    }
  }
}
