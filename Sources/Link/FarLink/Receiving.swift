// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkAddresses
public import LinkBeatMath

// The effects of a received datagram.
extension Switchboard {
  /// Takes a datagram. `mayCall`: false at an address where rooms may not call; then a hello changes nothing.
  ///
  /// Returns whether the datagram shows that a caller is there. If so, the caller reaches us at the address
  /// that received the datagram.
  @discardableResult
  public mutating func receive(
    _ bytes: UnsafeRawBufferPointer, from sender: Endpoint, mayCall: Bool = true, at now: Micros,
    using random: inout some RandomNumberGenerator
  ) -> Bool {
    counters.received += 1
    isCallerHeard = false
    switch Datagram(bytes) {
    case .hello where !mayCall: counters.unasked += 1
    case .hello(let hello): receive(hello, from: sender, at: now, using: &random)
    case .answer(let answer): receive(answer, from: sender, at: now)
    case .sealed(let datagram): receive(datagram, from: sender, at: now)
    case nil: counters.malformed += 1
    }
    return isCallerHeard
  }

  // MARK: Callers

  private mutating func receive(
    _ hello: HandshakeMessage, from sender: Endpoint, at now: Micros,
    using random: inout some RandomNumberGenerator
  ) {
    guard accepts else {
      counters.unasked += 1
      return
    }
    let line = lines.first { $0.isAt(sender.address) }
    let caller = line.map { .known($0.id) } ?? Caller(strangerAt: sender.address, salt: salt)
    guard knocks.admit(caller, caller.trust, at: now) else {
      counters.flooded += 1
      return
    }
    guard let handshake = CalledHandshake(from: handshakeStart, reading: hello),
      let theirs = Datagram.Introduction(handshake.payload)
    else { return refuse(sender, at: now) }
    // The sender has the key, or it replays a hello of another side or of ours.
    guard theirs.name != name else {
      counters.reflected += 1
      for place in lines.indices
      where lines[place].attempts.contains(where: { $0.handshake.half.bytes == hello.half.bytes }) {
        lines[place].noteOwnHello()
      }
      return
    }
    guard heardHellos.isNew(hello.half) else {
      counters.replayed += 1
      return
    }
    guard entries.admit(caller, caller.trust, at: now) else {
      counters.flooded += 1
      return
    }
    answer(handshake, theirs, from: sender, at: now, using: &random)
  }

  private mutating func answer(
    _ handshake: CalledHandshake, _ theirs: Datagram.Introduction, from sender: Endpoint, at now: Micros,
    using random: inout some RandomNumberGenerator
  ) {
    let secret = FarKey(using: &random)
    let ours = Datagram.Introduction(name: name, index: freeIndex(using: &random))
    guard let (message, state) = handshake.answer(ours.bytes, secret: secret) else {
      return refuse(sender, at: now)
    }
    let keys = Keys(state, ourIndex: ours.index, theirIndex: theirs.index, areWeCaller: false, at: now)
    enlist(Candidate(keys: keys, name: theirs.name, peer: sender, line: nil))
    emit(.send(Datagram.Answer(index: theirs.index, message: message).bytes, to: sender))
  }

  // MARK: Proven sides

  private mutating func receive(_ datagram: Datagram.SealedPayload, from sender: Endpoint, at now: Micros) {
    for place in lines.indices {
      if let keys = lines[place].current, keys.ourIndex == datagram.index {
        return receive(datagram, keys, isCurrent: true, on: place, from: sender, at: now)
      }
      if let keys = lines[place].previous, keys.ourIndex == datagram.index {
        return receive(datagram, keys, isCurrent: false, on: place, from: sender, at: now)
      }
    }
    guard let place = candidates.firstIndex(where: { $0.keys.ourIndex == datagram.index }) else {
      counters.unasked += 1
      return
    }
    var candidate = candidates[place]
    guard let plain = open(datagram, &candidate.keys, from: sender, at: now) else { return }
    candidates.remove(at: place)
    guard now - candidate.keys.born < FarLimits.candidateLife,
      let line = adopt(candidate, from: sender, at: now)
    else { return }
    deliver(plain.bytes, on: line, at: now)
  }

  private mutating func receive(
    _ datagram: Datagram.SealedPayload, _ keys: Keys, isCurrent: Bool, on place: Int, from sender: Endpoint,
    at now: Micros
  ) {
    var keys = keys
    guard !keys.isDead(at: now), isCurrent || lines[place].isOverlapping(at: now),
      let plain = open(datagram, &keys, from: sender, at: now)
    else { return }
    lines[place].receive(keys, isCurrent: isCurrent, isNewest: plain.isNewest, from: sender, at: now)
    isCallerHeard = isCurrent && plain.isNewest && !keys.areWeCaller
    if lines[place].owesSight { keepAlive(place, at: now) }
    deliver(plain.bytes, on: place, at: now)
  }

  private mutating func open(
    _ datagram: Datagram.SealedPayload, _ keys: inout Keys, from sender: Endpoint, at now: Micros
  ) -> (bytes: [UInt8], isNewest: Bool)? {
    switch keys.open(datagram, by: cipher) {
    case .plain(let bytes, let isNewest): return (bytes, isNewest)
    case .replayed: counters.replayed += 1
    case .forged: counters.forged += 1
    }
    return nil
  }

  /// Adopts a candidate (a handshake that its first sealed datagram has completed). Returns the index of its
  /// connection (line): that of our call, that of a known caller at any address, or a new connection.
  private mutating func adopt(_ candidate: Candidate, from sender: Endpoint, at now: Micros) -> Int? {
    guard let place = place(for: candidate, at: now) else {
      counters.crowdedOut += 1
      return nil
    }
    guard isBetter(candidate, than: lines[place], at: now) else { return place }
    let known = lines[place].peerName
    lines[place].adopt(candidate, from: sender, at: now)
    counters.handshakes += 1
    isCallerHeard = candidate.line == nil
    if known != candidate.name {
      if known != nil { emit(.closed(lines[place].id)) }
      emit(.opened(lines[place].id))
    }
    // The caller waits for a first datagram under the new keys. The called side waits for a datagram which
    // proves that its own datagrams arrive.
    keepAlive(place, at: now)
    return place
  }

  /// The later of two overlapping handshakes wins. If both sides called at once, the call of the side with
  /// the lower name wins: both sides know the names, but each knows only its own times.
  private func isBetter(_ candidate: Candidate, than line: Line, at now: Micros) -> Bool {
    guard let current = line.current else { return true }
    if line.peerName == candidate.name, current.areWeCaller != candidate.keys.areWeCaller,
      now - current.born < FarLimits.overlap
    {
      return candidate.keys.areWeCaller == (name < candidate.name)
    }
    return current.born <= candidate.keys.born
  }

  private mutating func place(for candidate: Candidate, at now: Micros) -> Int? {
    let known = lines.firstIndex { $0.peerName == candidate.name }
    if let called = lines.firstIndex(where: { $0.id == candidate.line }) {
      guard let known, known != called else { return called }
      return join(called, known)
    }
    guard known == nil, candidate.line == nil else { return known }
    if lines.count(where: \.calls.isEmpty) >= FarLimits.lines {
      let away = lines.indices.filter { lines[$0].calls.isEmpty && lines[$0].isAway(at: now) }
      guard let longest = away.min(by: { (lines[$0].heard ?? .zero) < (lines[$1].heard ?? .zero) }) else {
        return nil
      }
      close(longest)
    }
    lines.append(Line(newLine(), at: now))
    return lines.count - 1
  }

  /// Moves our call to the connection of a program that turned out to be known: it called us, or we call it
  /// by several names.
  private mutating func join(_ called: Int, _ known: Int) -> Int {
    let calls = lines[called].calls
    close(called)
    let place = called < known ? known - 1 : known
    lines[place].join(calls)
    return place
  }

  private mutating func deliver(_ plain: [UInt8], on place: Int, at now: Micros) {
    guard let channel = plain.first.flatMap(FarChannel.init) else {
      counters.malformed += 1
      return
    }
    switch channel {
    case .keepAlive: lines[place].seen = Endpoint(told: plain.dropFirst()) ?? lines[place].seen
    case .discovery, .measurement: emit(.arrived([UInt8](plain.dropFirst()), channel, on: lines[place].id))
    case .farewell: leave(place, at: now)
    }
  }

  /// Closes the connection. Our calls continue, each with a connection of its own: names that led to one
  /// machine may lead to two machines by now.
  private mutating func leave(_ place: Int, at now: Micros) {
    let calls = lines[place].calls
    close(place)
    for call in calls { lines.append(Line(newLine(), [call], at: now)) }
  }
}
