// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusOSC

/// The queued datagrams of one level of trust. The sources take turns, so a flood from one source delays only
/// that source. A source that sends seldom and cheap messages goes ahead of these turns. Known sources have
/// every second turn, so that a crowd of new sources does not delay them. When the queue is full, the source
/// with the most datagrams loses a datagram.
///
/// The number of datagrams and the number of bytes are limited.
struct InboxLine {
  private var waiting: [Endpoint: FirstInFirstOut<Inbox.QueuedPacket>] = [:]
  /// The sources whose turn comes. Each source with datagrams is in one of these three queues, once.
  private var ahead = FirstInFirstOut<Endpoint>()
  private var known = FirstInFirstOut<Endpoint>()
  private var new = FirstInFirstOut<Endpoint>()
  /// Whether a new source has the next turn, if both new and known sources wait.
  private var isTurnOfNew = false
  /// The source that had the most datagrams at the last comparison. Each source that sends is compared with
  /// this source, so that a flood causes no search through all sources.
  private var longest: Endpoint?
  private(set) var count = 0
  private(set) var bytes = 0
  private(set) var dropped = 0

  var first: Inbox.QueuedPacket? {
    (ahead.first ?? (isNextNew ? new : known).first).flatMap { waiting[$0]?.first }
  }

  private var isNextNew: Bool { known.isEmpty || isTurnOfNew && !new.isEmpty }

  /// - Parameter mayGoAhead: whether the source sends seldom and cheap messages, and so may go ahead.
  mutating func put(_ letter: Inbox.QueuedPacket, mayGoAhead: Bool) {
    let source = letter.source
    let own = waiting[source]?.count ?? 0
    // Only a source's first datagram goes ahead: later ones must not pass it.
    let goesAhead = mayGoAhead && own == 0
    while count >= SurfaceLimits.inbox || bytes + letter.size > SurfaceLimits.inboxBytes {
      guard makeRoom(for: own, goesAhead || letter.isKnown && !new.isEmpty) else {
        dropped += 1
        return
      }
    }
    if goesAhead { ahead.append(source) } else if own == 0 { queue(source, isKnown: letter.isKnown) }
    waiting[source, default: FirstInFirstOut()].append(letter)
    count += 1
    bytes += letter.size
    if own + 1 > longestCount { longest = source }
  }

  private var longestCount: Int { longest.flatMap { waiting[$0]?.count } ?? 0 }

  /// Makes room for a newcomer's datagram. Drops the last datagram of the source with the most datagrams,
  /// if that source has more than the newcomer will have. If the newcomer's datagram goes ahead of the
  /// turns, the last datagram of any source is dropped, preferably of a new source. Returns false if the
  /// newcomer's datagram has to be dropped.
  private mutating func makeRoom(for own: Int, _ comesFirst: Bool) -> Bool {
    let isGreedy = longestCount > own + 1
    let isNew = !new.isEmpty
    guard let source = isGreedy ? longest : comesFirst ? (isNew ? new : known).last : nil,
      let letter = waiting[source]?.popLast()
    else { return false }
    if waiting[source]?.isEmpty == true {
      waiting[source] = nil
      _ = isNew ? new.popLast() : known.popLast()
    }
    dropped += 1
    forget(letter)
    return true
  }

  mutating func removeFirst() -> Inbox.QueuedPacket? {
    guard let source = ahead.popFirst() ?? takeTurn(), let letter = waiting[source]?.popFirst() else {
      return nil
    }
    if waiting[source]?.isEmpty == true {
      waiting[source] = nil
    } else {
      queue(source, isKnown: letter.isKnown)
    }
    forget(letter)
    return letter
  }

  private mutating func queue(_ source: Endpoint, isKnown: Bool) {
    if isKnown { known.append(source) } else { new.append(source) }
  }

  private mutating func takeTurn() -> Endpoint? {
    let isNew = isNextNew
    isTurnOfNew = !isNew
    return isNew ? new.popFirst() : known.popFirst()
  }

  mutating func dropOld(at now: Micros) {
    while let first, now - first.came > SurfaceLimits.longestWait {
      dropped += 1
      _ = removeFirst()
    }
  }

  private mutating func forget(_ letter: Inbox.QueuedPacket) {
    count -= 1
    bytes -= letter.size
  }
}

/// A queue in an array. Elements at the front that were taken are removed when they are more than half of the
/// array.
struct FirstInFirstOut<Element> {
  private var elements: [Element] = []
  private var head = 0

  var count: Int { elements.count - head }
  var isEmpty: Bool { count == 0 }
  var first: Element? { isEmpty ? nil : elements[head] }
  var last: Element? { isEmpty ? nil : elements[elements.count - 1] }

  mutating func append(_ element: Element) { elements.append(element) }

  mutating func popFirst() -> Element? {
    guard let first else { return nil }
    head += 1
    if head * 2 > elements.count {
      elements.removeFirst(head)
      head = 0
    }
    return first
  }

  mutating func popLast() -> Element? { isEmpty ? nil : elements.removeLast() }
}
