// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusOSC

// Finds the row of a message, checks the arguments, and carries the message out.
extension SurfaceMachine {
  /// Obeys a message. `time`: when the sender wanted it to take effect.
  mutating func obey(_ message: Message, from peer: Peer, at time: Micros) {
    do throws(Refusal) {
      try dispatch(message, from: peer, at: time)
    } catch {
      refuse(error, message.address, to: peer)
    }
  }

  private mutating func dispatch(_ message: Message, from peer: Peer, at time: Micros) throws(Refusal) {
    let arguments = message.arguments
    if settings.aliases, let alias = Aliases.find(message.address, in: table) {
      return try obey(alias, arguments, address: message.address, from: peer, at: time)
    }
    if AddressPattern.isPattern(message.address.utf8) {
      return try dispatchPattern(message.address, arguments, from: peer, at: time)
    }
    guard let path = Table.path(of: message.address) else { throw .unknown }
    if let row = table.place(of: path) { return try obey(row, arguments, from: peer, at: time) }
    // A controller that can send only one number puts the other arguments into the address.
    if path.hasPrefix("subscribe/") || path.hasPrefix("unsubscribe/") {
      let parts = path.split(separator: "/")
      guard let verb = Verb(rawValue: String(parts[0])) else { throw .unknown }
      if let first = arguments.first?.number, first < 0.5 { return }
      let port = parts.dropFirst().prefix(1).map { Argument.string(String($0)) }
      let groups = parts.dropFirst(2).joined(separator: " ")
      return try obey(verb, port + (groups.isEmpty ? [] : [.string(groups)]), from: peer, dialect: .own)
    }
    throw .unknown
  }

  /// A hint at the address that the sender may have meant; empty: there is none.
  func suggestion(for address: String) -> String {
    var path = Table.path(of: address) ?? String(address.drop { $0 == "/" })
    if let slash = path.firstIndex(of: "/"), Table.path(of: address) == nil, table.nearest(to: path) == nil {
      path = String(path[path.index(after: slash)...])
    }
    return table.nearest(to: path).map { "; do you mean \(Table.address($0))?" } ?? ""
  }

  /// A pattern without arguments asks for values; with arguments it sets every value that it matches. A
  /// pattern fires no trigger: a user who sends `/tactus/*` does not mean to end the program.
  private mutating func dispatchPattern(
    _ address: String, _ arguments: [Argument], from peer: Peer, at time: Micros
  ) throws(Refusal) {
    var asked: [Int] = []
    var found = false
    var failure: Refusal?
    for index in try rows(matching: address) {
      switch table.rows[index].kind {
      case .value:
        found = true
        if arguments.isEmpty {
          asked.append(index)
        } else {
          try allowance.spend(Cost.message)
          do throws(Refusal) { try obey(index, arguments, from: peer, at: time) } catch {
            failure = failure ?? error
          }
        }
      case .reading:
        if arguments.isEmpty {
          found = true
          asked.append(index)
        }
      case .trigger, .order, .feed, .verb, .answer: continue
      }
    }
    if !asked.isEmpty { try answer(asked, to: peer) }
    if let failure { throw failure }
    if !found { throw Refusal(.unknownAddress, "no address that has a value matches") }
  }

  /// The rows that match, if the search fits into the allowance. Charges the cost of the search.
  mutating func rows(matching text: String) throws(Refusal) -> [Int] {
    try allowance.spend(Cost.pattern)
    var pattern = AddressPattern(text)
    let rows = pattern.matches(
      of: table.paths, below: Table.address(""), atMost: allowance.left * Cost.patternSteps)
    counters.patternSteps += pattern.work
    try allowance.spend(pattern.work / Cost.patternSteps)
    guard let rows else { throw .tooMuch }
    return rows
  }

  /// Sends the values of several rows.
  mutating func answer(_ rows: [Int], to peer: Peer) throws(Refusal) {
    try allowance.spend(Cost.telling(rows.count))
    tell(rows, to: answerTarget(for: peer), framed: true)
  }

  mutating func obey(
    _ index: Int, _ arguments: [Argument], from peer: Peer, at time: Micros, dialect: Dialect = .own
  ) throws(Refusal) {
    let row = table.rows[index]
    if arguments.isEmpty, row.isReadable {
      switch row.kind {
      case .value, .reading:
        if row.isForPaired, !isPaired(peer) { throw .refused("only for paired controllers and browsers") }
        try allowance.spend(Cost.answer)
        return tell([index], to: answerTarget(for: peer), framed: false)
      case .trigger, .order, .feed, .verb, .answer: break
      }
    }
    if row.kind == .verb, let verb = Verb(rawValue: row.path) {
      return try obey(verb, arguments, from: peer, dialect: dialect)
    }
    // Ignore an answer that arrives: two tactus must never answer each other's answers.
    guard row.kind != .answer else { return }
    let intent: Intent
    do throws(Refusal) {
      if let browser = peer.browser, !browser.isPaired { throw .notPaired }
      guard row.reach == .anyone || peer.endpoint.address.isLoopback else {
        throw .refused("only from the same machine")
      }
      guard let values = try row.accept(arguments), let write = row.write else {
        return settleButton(index, from: peer)
      }
      intent = try write(values, reading)
    } catch {
      tell([index], to: answerTarget(for: peer), framed: false)
      throw error
    }
    if row.isReadable, let subscriber = subscribers.firstIndex(where: { $0.source == peer }) {
      subscribers[subscriber].hold(index, at: now)
    }
    try carryOut(intent, Asker(peer: peer, row: index), at: time)
  }

  /// Limits how often outputs are added and removed: each time JACK's graph changes, which all its clients
  /// notice.
  private mutating func mayReshape(_ peer: Peer) throws(Refusal) {
    guard !isPaired(peer) else { return }
    guard reshaping.trySpend(at: now) else {
      throw Refusal(.notNow, "too many outputs came and went: try again in a second")
    }
  }

  /// A momentary button darkens its own light when the user releases it, whatever the row's value is.
  /// Send the value again.
  private mutating func settleButton(_ row: Int, from peer: Peer) {
    guard table.rows[row].isReadable, let index = subscribers.firstIndex(where: { $0.source == peer }) else {
      return
    }
    subscribers[index].held[row] = nil
    subscribers[index].mark(row)
  }

  private mutating func carryOut(_ intent: Intent, _ asker: Asker, at time: Micros) throws(Refusal) {
    switch intent {
    case .command(let command): try carryOut(command, asker, at: time)
    case .tempo(let tempo, .now): setTempo(tempo, asker, at: time)
    case .tempo(let tempo, let launch): try postponeTempo(tempo, until: launch, asker, at: time)
    case .tap(let made) where reading.own.followsTaps:
      follow(tapAt: momentOfTap(made, or: time), asker)
    case .tap(let made):
      guard let tempo = taps.tap(at: momentOfTap(made, or: time)) else { return }
      expect(tempo)
      if let (tempo, asker) = gate.offer(tempo, from: asker, at: now) { commit(tempo, asker, at: now) }
    case .faderRange(let range):
      reading.own.faderRange = range
      tellChanges()
    case .tempoStep(let step):
      reading.own.tempoStep = step
      tellChanges()
    case .bend(let percent): bend(percent, asker, at: time)
    case .bendStep(let step):
      reading.own.bendStep = step
      tellChanges()
    case .jog(let milliseconds): jog(milliseconds * 1000, asker, at: time)
    case .bendHome: bendHome(asker, at: time)
    case .followTaps(let follows):
      reading.own.followsTaps = follows
      drummer = Drummer()
      tellChanges()
    case .learn(let text):
      try mayKeep(asker.peer)
      try allowance.spend(Cost.learning)
      try learn(text)
    case .forget(let text):
      try mayKeep(asker.peer)
      try allowance.spend(Cost.learning)
      try forget(text)
    case .outward(let message):
      try allowance.spend(Cost.answer)
      try sayWhenAsked(message)
    case .song(let title, let launch): try request(title, on: launch, asker, at: time)
    case .verb: break
    }
  }

  private mutating func carryOut(_ command: Command, _ asker: Asker, at time: Micros) throws(Refusal) {
    if table.rows[asker.row].output == nil, command.isOfOutputs {
      try allowance.spend(Cost.reshaping)
      try mayReshape(asker.peer)
    }
    remindOfPairing(asker)
    if case .output(let output) = command, table.rows[asker.row].output != nil {
      reading.own.expectedOutputs[output.name] = output
    }
    order(command, asker, at: time)
  }

  private mutating func setTempo(_ tempo: Double, _ asker: Asker, at time: Micros) {
    // A value that we sent may come back; as a float32 it differs in the last digits.
    let isNews = Float(tempo) != Float(reading.tempo)
    // Expect the tempo even if the same tempo was requested before. While a user holds a key at the end
    // of the range, the next press must not start from the session's older tempo.
    if isNews || reading.own.expectedTempo != nil { expect(tempo) }
    guard isNews else { return }
    if let (tempo, asker) = gate.offer(tempo, from: asker, at: now) { commit(tempo, asker, at: time) }
  }

  private mutating func postponeTempo(
    _ tempo: Double, until launch: LaunchMoment, _ asker: Asker, at time: Micros
  ) throws(Refusal) {
    gate.drop()
    agenda.dropTempos()
    let beats = reading.state.next(launch, after: time)
    try postpone(
      ScheduledMessages.Entry(due: .beats(beats), task: .tempo(tempo), peer: asker.peer, cost: Cost.message))
  }

  /// The time of a tap: the sender's time if it lies in the last second, as it does in a bundle that arrives
  /// late; otherwise `time`.
  private func momentOfTap(_ made: Micros?, or time: Micros) -> Micros {
    guard let made, made <= now, made > now - SurfaceLimits.lateTap else { return time }
    return made
  }

  /// Warns the sender that its change is forgotten when tactus ends: nothing else shows that.
  private mutating func remindOfPairing(_ asker: Asker) {
    let row = table.rows[asker.row]
    let host = asker.peer.endpoint.address
    guard row.choice?.isRemembered == true, !isPaired(asker.peer), rates.mayBeReminded(host, at: now) else {
      return
    }
    reply(
      Message(
        Table.address("message"),
        .string(
          "\(row.path) is set until tactus ends: start tactus with --osc-allow=\(host) to keep such settings")
      ),
      to: answerTarget(for: asker.peer))
    note(.notRemembered(row.path, from: host))
  }

  /// Throws unless the peer is paired: learned bindings are remembered, so only paired controllers may change
  /// them.
  private func mayKeep(_ peer: Peer) throws(Refusal) {
    guard !isPaired(peer) else { return }
    throw .refused("only for paired controllers: start tactus with --osc-allow=\(peer.endpoint.address)")
  }

  mutating func expect(_ tempo: Double) {
    reading.own.expectedTempo = tempo
    expectationEnds = now + SurfaceLimits.expectation
  }

  mutating func commit(_ tempo: Double, _ asker: Asker, at time: Micros) {
    order(.tempo(Tempo(tempo)), asker, at: time)
  }

  mutating func order(_ command: Command, _ asker: Asker, at time: Micros) {
    counters.commands += 1
    put(.order(Order(command: command, time: time, asker: asker, isPaired: isPaired(asker.peer))))
  }

  /// Handles the program's answer to an order.
  mutating func settle(_ order: Order, _ verdict: Reply, clocks: Clocks) {
    self.clocks = clocks
    switch verdict {
    case .accepted: return
    case .refused(let refusal):
      let peer = order.asker.peer
      guard order.asker.row < table.rows.count else { return }
      if case .tempo = order.command { reading.own.expectedTempo = nil }
      if case .output(let output) = order.command { reading.own.expectedOutputs[output.name] = nil }
      tell([order.asker.row], to: answerTarget(for: peer), framed: false)
      refuse(refusal, Table.address(table.rows[order.asker.row].path), to: peer)
    }
  }
}
