// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import OSC

/// Letters of one host, of whose ports that comes first which has cost least.
private struct Ports {
  private var letters = Heap<Inbox.Letter>()
  /// What all of these may cost.
  private(set) var asked = 0
  /// Where the last letter of each port stands of which something waits, and how many do. All others stand at `level`: who asks
  /// again only when it was answered waits for one dear packet at most.
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

  /// The last letter, if it stands behind `place`.
  mutating func takeLast(after place: Double) -> Inbox.Letter? {
    guard let last = letters.last, place < last.place else { return nil }
    return taken(letters.popLast())
  }
}

/// One host's letters. Ports that have been heard before and those that have not take turns, so that nobody who speaks with us
/// stands behind ever new ones.
struct InboxHost {
  private var regulars = Ports()
  private var newcomers = Ports()
  /// What the regular ones had more, turn for turn, since both wait.
  private var lead = 0.0
  /// Of the last turn; nil: only one of the two waited.
  private var turns: Double?
  /// What it has cost, as if all hosts had begun together.
  var cost: Double

  init(cost: Double) { self.cost = cost }

  var isEmpty: Bool { regulars.count + newcomers.count == 0 }
  var asked: Int { regulars.asked + newcomers.asked }
  var first: Inbox.Letter? { isRegularsTurn ? regulars.first : newcomers.first }

  private var isRegularsTurn: Bool {
    guard let regular = regulars.first, let newcomer = newcomers.first else { return newcomers.count == 0 }
    return lead + Double(regular.expected) * newcomersTurns <= Double(newcomer.expected)
  }

  /// So many of the newcomers for one of the others: as there are more of them, but no more than two. Of thousands some have by chance a
  /// port that was heard before, and whoever speaks with us stands behind those.
  private var newcomersTurns: Double {
    min(2, max(1, Double(newcomers.portCount) / Double(max(1, regulars.portCount))))
  }

  /// What waits from before it was known comes first.
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

  /// What it cost that was served last.
  mutating func settle(_ letter: Inbox.Letter, _ cost: Double) {
    lead = turns.map { lead + (letter.isRegular ? cost * $0 : -cost) } ?? 0
  }

  mutating func dropFirst() -> Inbox.Letter? { isRegularsTurn ? regulars.takeFirst() : newcomers.takeFirst() }

  mutating func dropLast() -> Inbox.Letter? {
    regulars.asked > newcomers.asked ? regulars.takeLast(after: 0) : newcomers.takeLast(after: 0)
  }

  /// The same for one of its own that would stand at `place`; nil: that would be the last.
  mutating func dropLast(for place: Double, isRegular: Bool) -> Inbox.Letter? {
    guard (regulars.asked > newcomers.asked) == isRegular else { return dropLast() }
    return isRegular ? regulars.takeLast(after: place) : newcomers.takeLast(after: place)
  }
}

/// Ports that have been heard before, and what the last word of each cost. Those that come back are remembered longer, so that a flood
/// of ever new ones is soon forgotten.
struct Regulars {
  private var ports: [Peer: (heard: Micros, isBack: Bool, cost: Int)] = [:]
  private var swept = Micros.zero

  /// nil: it has not been heard.
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
