// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import TactusOSC

/// Letters of one host. The port that has cost least comes first.
private struct Ports {
  private var letters = Heap<Inbox.Letter>()
  /// The most that all waiting letters together may cost.
  private(set) var asked = 0
  /// For each port with waiting letters: their number, and the place of the last one. All other ports have
  /// the place `level`. So a port that asks again only after each answer waits for at most one costly packet.
  private var ports: [Peer: (place: Double, count: Int)] = [:]
  private var level = 0.0

  var count: Int { letters.count }
  var portCount: Int { ports.count }
  var first: Inbox.Letter? { letters.first }

  func hasAny(of port: Peer) -> Bool { ports[port] != nil }

  func place(of port: Peer, _ expected: Int) -> Double {
    max(level, ports[port]?.place ?? level) + Double(expected)
  }

  mutating func put(_ letter: Inbox.Letter) {
    letters.insert(letter)
    asked += letter.expected
    ports[letter.peer] = (letter.place, (ports[letter.peer]?.count ?? 0) + 1)
  }

  mutating func takeFirst() -> Inbox.Letter? { taken(letters.popFirst()) }

  private mutating func taken(_ letter: Inbox.Letter?) -> Inbox.Letter? {
    guard let letter else { return nil }
    asked -= letter.expected
    if let port = ports[letter.peer] {
      ports[letter.peer] = port.count > 1 ? (port.place, port.count - 1) : nil
    }
    return letter
  }

  mutating func serve() -> Inbox.Letter? {
    let waiting = Double(ports.count)
    guard let letter = takeFirst() else { return nil }
    let expected = Double(letter.expected)
    level = max(level + expected / waiting / 2, letter.place - expected)
    return letter
  }

  /// Takes the last letter, if its place is after `place`.
  mutating func takeLast(after place: Double) -> Inbox.Letter? {
    guard let last = letters.last, place < last.place else { return nil }
    return taken(letters.popLast())
  }
}

/// Letters of one host. Ports that have been heard before and new ports take turns, so that a known port does
/// not wait behind an endless number of new ones.
struct InboxHost {
  private var regulars = Ports()
  private var newcomers = Ports()
  /// Service that known ports received beyond their share while both kinds were waiting.
  private var lead = 0.0
  /// `newcomersTurns` at the last turn; nil: only one kind was waiting.
  private var turns: Double?
  /// Cost of the host so far, on a scale on which all hosts began together.
  var cost: Double

  init(cost: Double) { self.cost = cost }

  var isEmpty: Bool { regulars.count + newcomers.count == 0 }
  var asked: Int { regulars.asked + newcomers.asked }
  var first: Inbox.Letter? { isRegularsTurn ? regulars.first : newcomers.first }

  private var isRegularsTurn: Bool {
    guard let regular = regulars.first, let newcomer = newcomers.first else { return newcomers.count == 0 }
    return lead + Double(regular.expected) * newcomersTurns <= Double(newcomer.expected)
  }

  /// Turns of the new ports for each turn of the known ones: in the proportion of their numbers, but at most
  /// two. In a flood from thousands of ports some have by chance been heard before, and a real controller
  /// waits behind those.
  private var newcomersTurns: Double {
    min(2, max(1, Double(newcomers.portCount) / Double(max(1, regulars.portCount))))
  }

  /// A port counts as new while a letter waits that was queued before the port was known. So its letters keep
  /// their order.
  func isRegular(_ port: Peer, isKnown: Bool) -> Bool { isKnown && !newcomers.hasAny(of: port) }

  func place(of port: Peer, isRegular: Bool, _ expected: Int) -> Double {
    isRegular ? regulars.place(of: port, expected) : newcomers.place(of: port, expected)
  }

  mutating func put(_ letter: Inbox.Letter) {
    if letter.isRegular { regulars.put(letter) } else { newcomers.put(letter) }
  }

  mutating func serve() -> Inbox.Letter? {
    turns = regulars.count > 0 && newcomers.count > 0 ? newcomersTurns : nil
    return isRegularsTurn ? regulars.serve() : newcomers.serve()
  }

  /// Accounts for the cost of the letter that was served last.
  mutating func settle(_ letter: Inbox.Letter, _ cost: Double) {
    lead = turns.map { lead + (letter.isRegular ? cost * $0 : -cost) } ?? 0
  }

  mutating func dropFirst() -> Inbox.Letter? { isRegularsTurn ? regulars.takeFirst() : newcomers.takeFirst() }

  mutating func dropLast() -> Inbox.Letter? {
    regulars.asked > newcomers.asked ? regulars.takeLast(after: 0) : newcomers.takeLast(after: 0)
  }

  /// Makes room for a letter of this host with the given place. Returns nil if that letter would be the last.
  mutating func dropLast(for place: Double, isRegular: Bool) -> Inbox.Letter? {
    guard (regulars.asked > newcomers.asked) == isRegular else { return dropLast() }
    return isRegular ? regulars.takeLast(after: place) : newcomers.takeLast(after: place)
  }
}

/// Ports that have been heard before, and the cost of the last letter of each. Ports that return are
/// remembered longer, so that a flood of ever new ports is soon forgotten.
struct Regulars {
  private var ports: [Peer: (heard: Micros, isBack: Bool, cost: Int)] = [:]
  private var swept = Micros.zero

  /// nil: the port has not been heard.
  mutating func know(_ port: Peer, at now: Micros) -> Int? {
    guard let cost = ports[port]?.cost else { return nil }
    ports[port] = (now, true, cost)
    return cost
  }

  mutating func serve(_ port: Peer, _ cost: Int, at now: Micros) {
    if ports.count >= SurfaceLimits.sources, now - swept >= SurfaceLimits.sourceMemory {
      swept = now
      ports = ports.filter {
        now - $0.value.heard < ($0.value.isBack ? SurfaceLimits.regularMemory : SurfaceLimits.sourceMemory)
      }
    }
    if let known = ports[port] {
      ports[port] = (known.heard, known.isBack, cost)
    } else if ports.count < SurfaceLimits.sources {
      ports[port] = (now, false, cost)
    }
  }
}
