// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkAddresses
public import LinkBeatMath

// The caller's part of a handshake.
extension Switchboard {
  /// Calls another program, or updates the addresses of a call. `addresses` is empty if the other program's
  /// host name has no address.
  public mutating func call(_ number: Int, at addresses: [Endpoint], at now: Micros) {
    let addresses = Array(addresses.prefix(FarLimits.addresses))
    if let place = lines.firstIndex(where: { $0.hasCall(number) }) {
      lines[place].lead(number, to: addresses)
    } else if lines.reduce(0, { $0 + $1.calls.count }) < FarLimits.lines {
      lines.append(Line(newLine(), [Line.Call(number: number, addresses: addresses)], at: now))
    } else {
      counters.crowdedOut += 1
    }
  }

  /// Sends a hello, the caller's message of a handshake, with a new secret each time.
  mutating func call(_ place: Int, at now: Micros, using random: inout some RandomNumberGenerator) {
    let secret = FarKey(using: &random)
    let introduction = Datagram.Introduction(name: name, index: freeIndex(using: &random))
    let (handshake, hello) = CallerHandshake.begin(
      from: handshakeStart, secret: secret,
      payload: introduction.bytes + [UInt8](repeating: 0, count: Datagram.helloFilling))
    if lines[place].attempts.count == FarLimits.attempts { lines[place].attempts.removeFirst() }
    lines[place].attempts.append(Line.Attempt(index: introduction.index, handshake: handshake))
    emit(.send([Datagram.Kind.hello.rawValue] + hello.bytes, to: lines[place].nextAddress(at: now)))
  }

  /// Handles the answer to a call. If the answer can be opened, the called side has the key, because the
  /// answer is bound to our hello. The called side's next datagram proves that our datagrams reach it.
  mutating func receive(_ answer: Datagram.Answer, from sender: Endpoint, at now: Micros) {
    guard
      let place = lines.firstIndex(where: { $0.attempts.contains { $0.index == answer.index } }),
      let attempt = lines[place].attempts.first(where: { $0.index == answer.index })
    else {
      counters.unasked += 1
      return
    }
    guard lines[place].answers.trySpend(at: now) else {
      counters.flooded += 1
      return
    }
    guard let (payload, state) = attempt.handshake.read(answer.message),
      let theirs = Datagram.Introduction(payload)
    else { return refuse(sender, at: now) }
    lines[place].attempts.removeAll { $0.index == answer.index }
    var keys = Keys(
      state, ourIndex: attempt.index, theirIndex: theirs.index, areWeCaller: true, at: now)
    guard let word = keys.seal([FarChannel.keepAlive.rawValue], by: cipher) else { return }
    enlist(Candidate(keys: keys, name: theirs.name, peer: sender, line: lines[place].id))
    emit(.send(word, to: sender))
  }

  mutating func refuse(_ sender: Endpoint, at now: Micros) {
    counters.refused += 1
    refused = (sender, now)
  }

  /// Adds a candidate (a handshake that is not complete yet). If the list is full, the oldest candidate is
  /// dropped, because an honest handshake takes only one round trip.
  mutating func enlist(_ candidate: Candidate) {
    if candidates.count == FarLimits.candidates { candidates.removeFirst() }
    candidates.append(candidate)
  }

  /// A random index that no keys and no unanswered call of ours use yet.
  func freeIndex(using random: inout some RandomNumberGenerator) -> UInt32 {
    while true {
      let index = UInt32.random(in: .min ... .max, using: &random)
      let isTaken =
        candidates.contains { $0.keys.ourIndex == index }
        || lines.contains { line in
          line.current?.ourIndex == index || line.previous?.ourIndex == index
            || line.attempts.contains { $0.index == index }
        }
      if !isTaken { return index }
    }
  }
}
