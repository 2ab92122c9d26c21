// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import OSC

/// Datagrams that were read and wait to be looked at. Reading is cheap and looking is not: what would fill the kernel's
/// buffer, where the first to come takes all, is sorted here.
///
/// Strangers, of whom there may be thousands, for any address can be forged, have a line of their own with a room and a
/// share of the thread of its own: nobody else is ever behind them.
struct Inbox {
  struct Letter: Comparable {
    let datagram: [UInt8]
    let peer: Peer
    fileprivate let isStrangers: Bool
    fileprivate let came: Micros
    /// At most.
    fileprivate let expected: Int
    /// What its port will have cost, as if all ports of its host had begun together; of equals, the first to come is first.
    fileprivate let place: Double
    fileprivate let number: Int

    fileprivate var size: Int { Limits.letter + datagram.count }

    static func < (left: Letter, right: Letter) -> Bool {
      (left.place, left.number) < (right.place, right.number)
    }
    static func == (left: Letter, right: Letter) -> Bool { left.number == right.number }
  }

  private var ours: Line
  private var strangers: Line

  init(at now: Micros = .zero) {
    ours = Line(Cost.ours, at: now)
    strangers = Line(Cost.strangers, at: now)
  }

  var dropped: Int { ours.dropped + strangers.dropped }
  var count: Int { ours.count + strangers.count }
  var isEmpty: Bool { count == 0 }
  var bytes: Int { ours.bytes + strangers.bytes }

  mutating func put(
    _ datagram: UnsafeRawBufferPointer, from peer: Peer, standing: Standing, at now: Micros
  ) {
    if standing == .stranger {
      strangers.put(datagram, from: peer, isStrangers: true, at: now)
    } else {
      ours.put(datagram, from: peer, isStrangers: false, at: now)
    }
  }

  mutating func put(_ datagram: [UInt8], from peer: Peer, standing: Standing, at now: Micros) {
    datagram.withUnsafeBytes { put($0, from: peer, standing: standing, at: now) }
  }

  /// nil: nothing waits, or it has to wait until the most that it may cost is there. So nobody waits for a debt.
  mutating func next(at now: Micros) -> Letter? { ours.next(at: now) ?? strangers.next(at: now) }

  /// What looking at it came to.
  mutating func charge(_ cost: Int, for letter: Letter, at now: Micros) {
    if letter.isStrangers {
      strangers.charge(cost, for: letter, at: now)
    } else {
      ours.charge(cost, for: letter, at: now)
    }
  }

  /// When the first in turn can be looked at.
  var deadline: Micros? { [ours.deadline, strangers.deadline].compactMap { $0 }.min() }
}

extension Peer {
  /// Whose costs they are: this machine has many names.
  var host: Address { endpoint.address.isLoopback ? .loopback : endpoint.address }
}

/// Whoever has cost least comes first, host by host, so that a flood waits for everybody else, from however many ports it comes; the
/// turns of one host go to its ports in the same way. When it is full, whoever asks for most makes room.
///
/// Bounded in number, in bytes, and in what all together may cost.
private struct Line {
  private struct Host {
    var letters = Heap<Inbox.Letter>()
    /// What all of these may cost.
    var asked = 0
    /// What it has cost, as if all hosts had begun together.
    var cost: Double
    /// The same of each port, with what waits; those who are not here stand at `level`.
    var ports: [Peer: Double] = [:]
    var level = 0.0
    /// No letter has a later place.
    var last = 0.0

    func place(of peer: Peer, _ expected: Int) -> Double {
      max(level, ports[peer] ?? level) + Double(expected)
    }

    mutating func put(_ letter: Inbox.Letter) {
      letters.insert(letter)
      asked += letter.expected
      ports[letter.peer] = letter.place
      last = max(last, letter.place)
      // Ports of which nothing waits are no news.
      if ports.count > 2 * letters.count + 16 { ports = ports.filter { [level] in $0.value > level } }
    }

    mutating func take(at index: Int) -> Inbox.Letter {
      let letter = letters.remove(at: index)
      asked -= letter.expected
      return letter
    }

    mutating func serve() -> Inbox.Letter {
      let letter = take(at: 0)
      let expected = Double(letter.expected)
      level = max(level + expected / Double(ports.count), letter.place - expected)
      return letter
    }
  }

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
  /// One of each host of which something waits, but the one that is being looked at.
  private var turns = Heap<Turn>()
  private var hosts: [Address: Host] = [:]
  /// What each of those would have cost if all had cost the same: where newcomers stand.
  private var level = 0.0
  /// No host asks for more.
  private var most = 0
  private var budget: TokenBucket

  init(_ share: Cost.Share, at now: Micros) {
    budget = TokenBucket(perSecond: share.perSecond, capacity: share.atOnce, at: now)
  }

  mutating func put(
    _ datagram: UnsafeRawBufferPointer, from peer: Peer, isStrangers: Bool, at now: Micros
  ) {
    let expected = Cost.expected(datagram)
    while count >= Limits.inbox || bytes + Limits.letter + datagram.count > Limits.inboxBytes {
      guard makeRoom(for: peer, expected) else {
        dropped += 1
        return
      }
    }
    numbered += 1
    let isNew = hosts[peer.host] == nil
    let place = hosts[peer.host, default: Host(cost: level)].place(of: peer, expected)
    let letter = Inbox.Letter(
      datagram: [UInt8](datagram), peer: peer, isStrangers: isStrangers, came: now, expected: expected,
      place: place, number: numbered)
    hosts[peer.host, default: Host(cost: level)].put(letter)
    count += 1
    bytes += letter.size
    most = max(most, hosts[peer.host]?.asked ?? 0)
    if isNew { queue(peer.host) }
  }

  /// Behind those who will have cost less with what they ask for next.
  private mutating func queue(_ address: Address) {
    guard let host = hosts[address], let first = host.letters.first else { return }
    turns.insert(Turn(place: host.cost + Double(first.expected), number: first.number, host: address))
  }

  /// The last letter of the host that asks for most; false when that is the newcomer's.
  private mutating func makeRoom(for peer: Peer, _ expected: Int) -> Bool {
    let asked = (hosts[peer.host]?.asked ?? 0) + expected
    if asked < most, let greatest = hosts.max(by: { $0.value.asked < $1.value.asked }) {
      most = greatest.value.asked
      if asked < most { return dropLast(of: greatest.key, after: 0) }
    }
    return dropLast(of: peer.host, after: hosts[peer.host]?.place(of: peer, expected) ?? .infinity)
  }

  private mutating func dropLast(of address: Address, after place: Double) -> Bool {
    guard let host = hosts[address], place < host.last, let index = host.letters.lastIndex else {
      return false
    }
    hosts[address]?.last = host.letters[index].place
    guard place < host.letters[index].place else { return false }
    drop(of: address, at: index)
    return true
  }

  private mutating func drop(of address: Address, at index: Int) {
    guard let letter = hosts[address]?.take(at: index) else { return }
    count -= 1
    bytes -= letter.size
    dropped += 1
  }

  mutating func next(at now: Micros) -> Inbox.Letter? {
    while let turn = turns.first {
      while let first = hosts[turn.host]?.letters.first, now - first.came > Limits.patience {
        drop(of: turn.host, at: 0)
      }
      guard let first = hosts[turn.host]?.letters.first else {
        _ = turns.remove(at: 0)
        hosts[turn.host] = nil
        continue
      }
      guard budget.has(Double(first.expected), at: now) else { return nil }
      _ = turns.remove(at: 0)
      count -= 1
      bytes -= first.size
      return hosts[turn.host]?.serve()
    }
    return nil
  }

  mutating func charge(_ cost: Int, for letter: Inbox.Letter, at now: Micros) {
    let cost = Double(Cost.letter + cost)
    budget.spend(cost, at: now)
    guard let host = hosts[letter.peer.host] else { return }
    level = max(level + cost / Double(hosts.count), host.cost)
    if host.letters.count == 0 {
      hosts[letter.peer.host] = nil
    } else {
      hosts[letter.peer.host]?.cost += cost
      queue(letter.peer.host)
    }
  }

  var deadline: Micros? {
    turns.first.flatMap { hosts[$0.host]?.letters.first }.map { budget.time(of: Double($0.expected)) }
  }
}
