// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAddresses
import LinkBeatMath

/// The connection to another program, which we call or which has proven that it has the key. There is only
/// one connection (line) to a program, even if we call it by several names and it calls us, too.
struct Line: Sendable {
  let id: LineID
  /// Our calls to the other side with their addresses, in the order of the settings. Empty: that side called
  /// us.
  private(set) var calls: [Call]
  /// The number of hellos that we sent since the other side was heard last. We send them to the other side's
  /// addresses in turn.
  private var hellos = 0
  var attempts: [Attempt] = []
  /// The value of `hellos` when one of our hellos came back to us.
  private var ownHello: Int?
  private var called: Micros?

  /// The random name of the other program; nil until that program has proven that it has the key.
  private(set) var peerName: UInt64?
  private(set) var peer: Endpoint?
  private(set) var current: Keys?
  /// The former keys, which open datagrams that were on their way when the keys were renewed.
  private(set) var previous: Keys?
  /// The number of datagrams that may go to `peer` until that side is heard again. An attacker may forge a
  /// sender's address, and must not be able to direct a flood at a stranger.
  private(set) var credit = 0
  /// The limit of answers to our calls (`FarLimits.answers`).
  var answers: TokenBucket
  /// `seen`: our endpoint, as the other side reported it. `toldPeer`: the other side's endpoint, as we last
  /// reported it to that side.
  var seen: Endpoint?
  var toldPeer: Endpoint?
  private var proven: Micros?
  private(set) var heard: Micros?
  var keptAlive: Micros

  init(_ id: LineID, _ calls: [Call] = [], at now: Micros) {
    self.id = id
    self.calls = calls
    keptAlive = now
    answers = TokenBucket(perSecond: FarLimits.answers, at: now)
  }

  /// Whether the other side was at this address last, or is called there.
  func isAt(_ address: Address) -> Bool {
    peer?.address == address || calls.contains { $0.addresses.contains { $0.address == address } }
  }

  struct Call: Sendable {
    let number: Int
    var addresses: [Endpoint]
  }

  func hasCall(_ number: Int) -> Bool { calls.contains { $0.number == number } }

  mutating func lead(_ number: Int, to addresses: [Endpoint]) {
    for place in calls.indices where calls[place].number == number { calls[place].addresses = addresses }
  }

  /// Adds calls that turned out to reach the same program.
  mutating func join(_ others: [Call]) {
    calls = (calls + others).sorted { $0.number < $1.number }
  }

  /// Notes that one of our own hellos came back to us.
  mutating func noteOwnHello() { ownHello = hellos }

  /// A call of ours that can still be answered.
  struct Attempt: Sendable {
    /// The index that the other side puts into its answer, so that we find this attempt by it.
    let index: UInt32
    let handshake: CallerHandshake
  }

  var isOpen: Bool { peerName != nil }

  func isAway(at now: Micros) -> Bool { heard.map { now - $0 >= FarLimits.silence } ?? true }

  var view: LineView {
    let state: LineState =
      if let heard, let proven {
        isSilent ? .away(since: heard) : .proven(since: proven)
      } else if let ownHello, hellos - ownHello < FarLimits.attempts {
        .ourselves
      } else {
        .waiting
      }
    return LineView(
      id: id, calls: calls.map(\.number), peer: peer, state: state, loss: current?.window.loss, seen: seen)
  }

  /// Whether the other side was away at the last deadline.
  private var isSilent = false

  // MARK: Received

  /// Takes the keys that the other side has proven to have. The former keys stay valid for a moment.
  mutating func adopt(_ candidate: Candidate, from sender: Endpoint, at now: Micros) {
    let isThere = sender == peer && credit > 0
    previous = current
    current = candidate.keys
    peerName = candidate.name
    peer = sender
    attempts.removeAll()
    proven = proven.flatMap { isAway(at: now) ? nil : $0 } ?? now
    // A caller's address is certain only after the caller's next datagram. A side that we called has already
    // sent us two datagrams from its address.
    credit = isThere || candidate.line != nil && candidate.peer == sender ? FarLimits.credit : 1
    note(at: now)
  }

  /// Notes that a datagram came which was sealed with `keys`. The newest datagram shows the present endpoint
  /// of the other side.
  mutating func receive(_ keys: Keys, isCurrent: Bool, isNewest: Bool, from sender: Endpoint, at now: Micros)
  {
    if isCurrent { current = keys } else { previous = keys }
    note(at: now)
    guard isCurrent, isNewest else { return }
    credit = sender == peer ? FarLimits.credit : 1
    peer = sender
  }

  private mutating func note(at now: Micros) {
    if isSilent { proven = now }
    heard = now
    isSilent = false
    (hellos, ownHello) = (0, nil)
  }

  /// Whether we must report to the other side which endpoint it has: that endpoint differs from the endpoint
  /// reported last, and a second datagram has confirmed it.
  var owesSight: Bool { toldPeer != peer && credit > 1 }

  func isOverlapping(at now: Micros) -> Bool {
    current.map { now - $0.born < FarLimits.overlap } ?? false
  }

  // MARK: Sent

  /// Seals bytes for the other side. Returns nil if there are no keys, if the keys are used up, or if
  /// `credit` is 0.
  mutating func seal(_ plain: [UInt8], by cipher: any FarCipher.Type, at now: Micros) -> [UInt8]? {
    guard credit > 0, let datagram = current?.seal(plain, by: cipher) else { return nil }
    credit -= 1
    keptAlive = now
    return datagram
  }

  // MARK: Deadlines

  var deadlines: [Micros] {
    var all: [Micros] = []
    if let heard {
      if !isSilent { all.append(heard + FarLimits.silence) }
      if calls.isEmpty { all.append(heard + FarLimits.memory) }
      if !isSilent { all.append(keptAlive + FarLimits.keepAlive) }
    }
    if let current { all.append(current.born + FarLimits.keyLife) }
    if let due = callDue { all.append(due) }
    return all
  }

  /// Drops expired keys, and records whether the other side has fallen silent.
  mutating func letGo(at now: Micros) {
    isSilent = heard != nil && isAway(at: now)
    if !isOverlapping(at: now) { previous = nil }
    if current?.isDead(at: now) ?? false { current = nil }
  }

  func isForgotten(at now: Micros) -> Bool {
    guard calls.isEmpty, let heard else { return false }
    return now - heard >= FarLimits.memory
  }

  func isKeepAliveDue(at now: Micros) -> Bool {
    heard != nil && !isSilent && now - keptAlive >= FarLimits.keepAlive
  }

  func isCallDue(at now: Micros) -> Bool {
    guard let due = callDue, due <= now else { return false }
    return current.map { isSilent || now >= $0.renewal } ?? true
  }

  /// The time of the next call: soon while the other side is away, otherwise when the keys must be renewed.
  private var callDue: Micros? {
    guard calls.contains(where: { !$0.addresses.isEmpty }) || !calls.isEmpty && peer != nil else {
      return nil
    }
    let next = called.map {
      $0 + (hellos < FarLimits.eagerCalls ? FarLimits.callSpacing : FarLimits.callTimeout)
    }
    guard let current, !isSilent else { return next ?? keptAlive }
    return max(next ?? current.renewal, current.renewal)
  }

  /// The endpoint to call now. The other side's last endpoint and the addresses of its names take turns.
  mutating func nextAddress(at now: Micros) -> Endpoint {
    called = now
    defer { hellos += 1 }
    let all = (peer.map { [$0] } ?? []) + calls.flatMap(\.addresses).filter { $0 != peer }
    return all[hellos % all.count]
  }

  package mutating func pretend(sent: UInt64) { current?.pretend(sent: sent) }
}

/// A handshake that the other side's first sealed datagram completes.
struct Candidate: Sendable {
  var keys: Keys
  let name: UInt64
  let peer: Endpoint
  /// The connection that we opened by a call; nil: the other side called.
  let line: LineID?
}
