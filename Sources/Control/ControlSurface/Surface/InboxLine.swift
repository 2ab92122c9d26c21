// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import TactusOSC

/// Fair queue: the host that has cost least comes first, so that a flood waits for all other hosts, from
/// however many ports it comes. The turns of a host go to its ports by the same rule. When the queue is full,
/// the host that asks for most makes room.
///
/// Bounded in number, in bytes, and in the cost of all datagrams together.
struct InboxLine {
  private struct Turn: Comparable {
    let place: Double
    let number: Int
    let host: Address

    static func < (left: Turn, right: Turn) -> Bool {
      (left.place, left.number) < (right.place, right.number)
    }
  }

  private(set) var dropped = 0
  private(set) var count = 0
  private(set) var bytes = 0
  private var numbered = 0
  /// One turn for each host with waiting letters, except the host whose letter is being handled.
  private var turns = Heap<Turn>()
  private var hosts: [Address: InboxHost] = [:]
  /// Virtual time of the queue: a new host starts at this cost.
  private var level = 0.0
  /// Upper limit of what any host asks for.
  private var most = 0
  private var budget: TokenBucket
  private var memory = Regulars()

  init(_ share: Cost.Share, at now: Micros) {
    budget = TokenBucket(perSecond: share.perSecond, capacity: share.atOnce, at: now)
  }

  mutating func put(
    _ datagram: UnsafeRawBufferPointer, from peer: Peer, isStrangers: Bool, at now: Micros
  ) {
    let known = memory.know(peer, at: now)
    let expected = max(Cost.expected(datagram), known ?? 0)
    let (isRegular, place) = stand(of: peer, isKnown: known != nil, expected)
    while count >= SurfaceLimits.inbox
      || bytes + SurfaceLimits.letter + datagram.count > SurfaceLimits.inboxBytes
    {
      guard makeRoom(for: peer.host, expected, at: place, isRegular: isRegular) else {
        dropped += 1
        return
      }
    }
    numbered += 1
    let isNew = hosts[peer.host] == nil
    let letter = Inbox.Letter(
      datagram: [UInt8](datagram), peer: peer, isStrangers: isStrangers, isRegular: isRegular, came: now,
      expected: expected, place: place, number: numbered)
    hosts[peer.host, default: InboxHost(cost: level)].put(letter)
    count += 1
    bytes += letter.size
    most = max(most, hosts[peer.host]?.asked ?? 0)
    if isNew { queue(peer.host) }
  }

  private func stand(of peer: Peer, isKnown: Bool, _ expected: Int) -> (isRegular: Bool, place: Double) {
    let host = hosts[peer.host] ?? InboxHost(cost: level)
    let isRegular = host.isRegular(peer, isKnown: isKnown)
    return (isRegular, host.place(of: peer, isRegular: isRegular, expected))
  }

  /// Queues the host by the cost that it will have had after its next letter.
  private mutating func queue(_ address: Address) {
    guard let host = hosts[address], let first = host.first else { return }
    turns.insert(Turn(place: host.cost + Double(first.expected), number: first.number, host: address))
  }

  /// Drops the last letter of the host that asks for most. Returns false if that is the newcomer's letter.
  private mutating func makeRoom(
    for host: Address, _ expected: Int, at place: Double, isRegular: Bool
  ) -> Bool {
    let asked = (hosts[host]?.asked ?? 0) + expected
    if asked < most, let greatest = hosts.max(by: { $0.value.asked < $1.value.asked }) {
      most = greatest.value.asked
      if asked < most { return drop(hosts[greatest.key]?.dropLast()) }
    }
    return drop(hosts[host]?.dropLast(for: place, isRegular: isRegular))
  }

  private mutating func drop(_ letter: Inbox.Letter?) -> Bool {
    guard let letter else { return false }
    count -= 1
    bytes -= letter.size
    dropped += 1
    return true
  }

  mutating func next(at now: Micros) -> Inbox.Letter? {
    while let turn = turns.first {
      while let first = hosts[turn.host]?.first, now - first.came > SurfaceLimits.patience {
        _ = drop(hosts[turn.host]?.dropFirst())
      }
      guard let first = hosts[turn.host]?.first else {
        _ = turns.popFirst()
        hosts[turn.host] = nil
        continue
      }
      guard budget.has(Double(first.expected), at: now) else { return nil }
      _ = turns.popFirst()
      count -= 1
      bytes -= first.size
      return hosts[turn.host]?.serve()
    }
    return nil
  }

  mutating func charge(_ cost: Int, for letter: Inbox.Letter, at now: Micros) {
    memory.serve(letter.peer, Cost.letter + min(cost, Cost.datagram), at: now)
    let cost = Double(Cost.letter + cost)
    budget.spend(cost, at: now)
    hosts[letter.peer.host]?.settle(letter, cost)
    guard let host = hosts[letter.peer.host] else { return }
    level = max(level + cost / Double(hosts.count), host.cost)
    if host.isEmpty {
      hosts[letter.peer.host] = nil
    } else {
      hosts[letter.peer.host]?.cost += cost
      queue(letter.peer.host)
    }
  }

  var deadline: Micros? {
    turns.first.flatMap { hosts[$0.host]?.first }.map { budget.time(of: Double($0.expected)) }
  }
}
