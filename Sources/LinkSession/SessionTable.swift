// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import LinkWire

/// A session that somebody announces: who, what they say of it, and how far we are with measuring it.
struct KnownSession: Sendable {
  enum Standing: Equatable {
    /// In the queue to be measured.
    case waiting
    case measuring
    /// Measured, and we stayed where we were. In uptime, when to look again.
    case known(reconsiderAt: Micros)
  }

  /// Nil for our own, and for one that was only just heard of.
  fileprivate(set) var standing: Standing?
  private(set) var members = 0
  private(set) var sightings = 0
  var timelines = Tally<Timeline>()
  private(set) var startStops = Tally<SessionStartStop>()

  fileprivate mutating func add(_ state: PeerState, isNewMember: Bool) {
    members += isNewMember ? 1 : 0
    sightings += 1
    timelines.add(state.timeline)
    startStops.add(state.startStop)
  }

  fileprivate mutating func remove(_ state: PeerState, isLastOfNode: Bool) {
    members -= isLastOfNode ? 1 : 0
    sightings -= 1
    timelines.remove(state.timeline)
    startStops.remove(state.startStop)
  }
}

/// All sessions around us, ours among them. One that nobody announces any more is not in here.
struct SessionTable: Sendable {
  private var table: [SessionID: KnownSession] = [:]
  /// How often each was measured, and stayed beside ours; it may be gone in between.
  private var looks: [SessionID: Int] = [:]
  /// First come, first measured. May name sessions that are gone; they are skipped.
  private var queue: [SessionID] = []
  private var queueHead = 0
  /// No known session is due for another look before this.
  private(set) var nextReconsideration: Micros?

  subscript(session: SessionID) -> KnownSession? { table[session] }
  var count: Int { table.count }
  /// Those that we have measured, or are about to.
  var compared: Int { table.values.count { $0.standing != nil } }

  mutating func add(_ state: PeerState, isNewMember: Bool) {
    table[state.session, default: KnownSession()].add(state, isNewMember: isNewMember)
  }

  mutating func remove(_ state: PeerState, isLastOfNode: Bool) {
    table[state.session]?.remove(state, isLastOfNode: isLastOfNode)
    if table[state.session]?.sightings == 0 { table[state.session] = nil }
  }

  /// All its members are taken to say this.
  mutating func expect(_ timeline: Timeline, in session: SessionID) {
    table[session]?.timelines.replaceAll(by: timeline)
  }

  /// Sessions that come and go while nothing is measured must not make the queue grow.
  mutating func enqueue(_ session: SessionID) {
    table[session]?.standing = .waiting
    queue.append(session)
    guard queue.count > 4 * Limits.sessions else { return }
    var seen: Set<SessionID> = []
    queue = queue[queueHead...].filter { table[$0]?.standing == .waiting && seen.insert($0).inserted }
    queueHead = 0
  }

  /// The next one in line; it is being measured from now on.
  mutating func takeWaiting() -> SessionID? {
    while queueHead < queue.count {
      let session = queue[queueHead]
      queueHead += 1
      guard table[session]?.standing == .waiting else { continue }
      table[session]?.standing = .measuring
      return session
    }
    queue.removeAll(keepingCapacity: true)
    queueHead = 0
    return nil
  }

  mutating func keep(_ session: SessionID, reconsiderAt: Micros) {
    table[session]?.standing = .known(reconsiderAt: reconsiderAt)
    if looks.count >= Limits.sessions { looks.removeAll() }
    looks[session, default: 0] += 1
    nextReconsideration = min(reconsiderAt, nextReconsideration ?? reconsiderAt)
  }

  /// `left` was ours, and `joined` is.
  mutating func change(from left: SessionID, to joined: SessionID, reconsiderAt: Micros) {
    table[joined]?.standing = nil
    guard table[left] != nil else { return }
    looks[left] = looks[joined]
    keep(left, reconsiderAt: reconsiderAt)
  }

  func looks(at session: SessionID) -> Int { looks[session] ?? 0 }

  /// Puts every known session whose time has come in line again.
  mutating func reconsider(at now: Micros) {
    guard let due = nextReconsideration, due <= now else { return }
    nextReconsideration = nil
    var again: [SessionID] = []
    for (session, known) in table {
      guard case .known(let time) = known.standing else { continue }
      if time <= now {
        again.append(session)
      } else {
        nextReconsideration = min(time, nextReconsideration ?? time)
      }
    }
    for session in again.sorted() { enqueue(session) }
  }
}
