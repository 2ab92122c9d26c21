// SPDX-License-Identifier: GPL-2.0-or-later
import Addresses
import BeatMath

/// One other side, proven or called. By however many names we call it, and whether or not it calls us, too, it has one line.
struct Line: Sendable {
  let id: LineID
  /// Whom we call, and where it may be, in the order in which we were told to; empty: it called us.
  private(set) var calls: [Call]
  /// Hellos since it was heard last: each address has its turn.
  private var hellos = 0
  var attempts: [Attempt] = []
  /// How many of those there were when one came back to ourselves.
  private var ownHello: Int?
  private var called: Micros?

  /// The other program's life. Known once it is proven.
  private(set) var peerName: UInt64?
  private(set) var peer: Endpoint?
  private(set) var current: Keys?
  /// What was under way when the keys were changed is still heard.
  private(set) var previous: Keys?
  /// Datagrams that may be sent to `peer` until it is heard again: somebody may have pretended that it is there, and must not be able to have
  /// a stranger showered.
  private(set) var credit = 0
  /// Hellos from where the other side was last, or is called. A flood from other addresses must not keep it
  /// from coming back.
  var purse: Purse
  /// Where the other side sees us, and what we have told it of itself.
  var seen: Endpoint?
  var toldPeer: Endpoint?
  private var proven: Micros?
  private(set) var heard: Micros?
  var keptAlive: Micros

  init(_ id: LineID, _ calls: [Call] = [], at now: Micros) {
    self.id = id
    self.calls = calls
    keptAlive = now
    purse = Purse(at: now)
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

  /// What these lead to has turned out to be the same program.
  mutating func join(_ others: [Call]) {
    calls = (calls + others).sorted { $0.number < $1.number }
  }

  /// One of our own hellos has come to us.
  mutating func noteOwnHello() { ownHello = hellos }

  /// A caller's handshake under way.
  struct Attempt: Sendable {
    let introduction: Datagram.Introduction
    let secret: FarKey
    let half: FarKey
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

  /// As of the last deadline.
  private var isSilent = false

  // MARK: What comes

  /// The keys that another side has shown to have. What was agreed before goes on beside them for a moment.
  mutating func adopt(_ candidate: Candidate, from sender: Endpoint, at now: Micros) {
    let isThere = sender == peer && credit > 0
    previous = current
    current = candidate.keys
    peerName = candidate.name
    peer = sender
    attempts.removeAll()
    proven = proven.flatMap { isAway(at: now) ? nil : $0 } ?? now
    // Who called is where it says as soon as it speaks again; whom we called has spoken twice from there.
    credit = isThere || candidate.line != nil && candidate.peer == sender ? FarLimits.credit : 1
    note(at: now)
  }

  /// Something under these keys has come: the address of the newest is where the other side is.
  mutating func hear(_ keys: Keys, isCurrent: Bool, isNewest: Bool, from sender: Endpoint, at now: Micros) {
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

  /// It is somewhere else than we have told it, and has been heard there twice.
  var owesSight: Bool { toldPeer != peer && credit > 1 }

  func isOverlapping(at now: Micros) -> Bool {
    current.map { now - $0.born < FarLimits.overlap } ?? false
  }

  // MARK: What goes

  /// nil: there is nobody, or it was not heard for too long, or the keys are worn out.
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

  /// What is too old is gone.
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

  /// While nobody is there, and to renew the keys.
  private var callDue: Micros? {
    guard calls.contains(where: { !$0.addresses.isEmpty }) || !calls.isEmpty && peer != nil else {
      return nil
    }
    let next = called.map {
      $0 + (hellos < FarLimits.eagerCalls ? FarLimits.callSpacing : FarLimits.patience)
    }
    guard let current, !isSilent else { return next ?? keptAlive }
    return max(next ?? current.renewal, current.renewal)
  }

  /// Where to call now: where it was last, and where its name leads.
  mutating func nextAddress(at now: Micros) -> Endpoint {
    called = now
    defer { hellos += 1 }
    let all = (peer.map { [$0] } ?? []) + calls.flatMap(\.addresses).filter { $0 != peer }
    return all[hellos % all.count]
  }

  package mutating func pretend(sent: UInt64) { current?.pretend(sent: sent) }
}

/// A handshake that only the other side's first word can complete.
struct Candidate: Sendable {
  var keys: Keys
  let name: UInt64
  let peer: Endpoint
  /// Which of ours called; nil: we were called.
  let line: LineID?
}
