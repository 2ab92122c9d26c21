// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire

/// An announced session: its members, their states, and the progress of its measurement.
struct KnownSession: Sendable {
  enum Rank: Equatable {
    /// The session waits in the queue for a measurement.
    case waiting
    case measuring
    /// The session was measured and we did not join it, or its measurement pauses after failures.
    /// `reconsiderAt`: the uptime of the next measurement.
    case known(reconsiderAt: Micros)
  }

  /// The progress of the session's measurement; nil for our own session, and for a session that was not
  /// queued yet.
  fileprivate(set) var standing: Rank?
  private(set) var members = 0
  private(set) var sightings = 0
  var timelines = Multiset<Timeline>()
  private(set) var startStops = Multiset<SessionStartStop>()

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

/// All announced sessions, including our own. A session that no peer announces any more is removed.
struct SessionTable: Sendable {
  private var table: [SessionID: KnownSession] = [:]
  /// For each session that still existed beside ours after a measurement: the number of such measurements.
  /// This number is kept when the session ends.
  private var looks: [SessionID: Int] = [:]
  /// `failures`: sessions whose measurement failed. `failedHosts`: for each host that announced such a
  /// session, the uptime of the last failure. Both are kept when the session ends.
  private var failures: [SessionID: Failures] = [:]
  private var failedHosts: [Address: Micros] = [:]
  /// Sessions to measure. `first` has the sessions without a failure, so that invented sessions, whose
  /// measurement fails, don't delay honest sessions for long.
  private var first = Queue()
  private var again = Queue()
  /// The earliest uptime at which a known session is due for another measurement.
  private(set) var nextReconsideration: Micros?

  subscript(session: SessionID) -> KnownSession? { table[session] }
  var count: Int { table.count }
  /// The number of sessions that were measured or wait for a measurement.
  var compared: Int { table.values.count { $0.standing != nil } }

  mutating func add(_ state: PeerState, isNewMember: Bool) {
    table[state.session, default: KnownSession()].add(state, isNewMember: isNewMember)
  }

  mutating func remove(_ state: PeerState, isLastOfNode: Bool) {
    table[state.session]?.remove(state, isLastOfNode: isLastOfNode)
    if table[state.session]?.sightings == 0 { table[state.session] = nil }
  }

  /// Records that all members announce this timeline.
  mutating func expect(_ timeline: Timeline, in session: SessionID) {
    table[session]?.timelines.replaceAll(by: timeline)
  }

  /// Queues a session for measurement. `host` announced it.
  mutating func enqueue(_ session: SessionID, by host: Address? = nil, at now: Micros) {
    if let failed = failures[session], failed.pauseEnd > now {
      table[session]?.standing = .known(reconsiderAt: failed.pauseEnd)
      nextReconsideration = min(failed.pauseEnd, nextReconsideration ?? failed.pauseEnd)
      return
    }
    table[session]?.standing = .waiting
    let entry = (session, host)
    if failures[session] == nil { first.append(entry, in: table) } else { again.append(entry, in: table) }
  }

  /// Takes the next session to measure from the queue.
  mutating func takeWaiting(at now: Micros) -> SessionID? {
    while let entry = first.removeFirst(from: table) {
      // After a failed measurement of this host's session, the host's other sessions wait until those of all
      // other hosts were measured.
      if let host = entry.host, let failed = failedHosts[host], now - failed < Limits.failureMemory {
        again.append(entry, in: table)
      } else {
        return measure(entry.session)
      }
    }
    return again.removeFirst(from: table).map { measure($0.session) }
  }

  private mutating func measure(_ session: SessionID) -> SessionID {
    table[session]?.standing = .measuring
    return session
  }

  /// Notes that the measurement of a session failed; `hosts` announced that session.
  mutating func noteFailure(of session: SessionID, by hosts: [Address], at now: Micros) {
    if failures.count >= Limits.sessions { failures = failures.filter { !$0.value.isForgotten(at: now) } }
    if failures.count >= Limits.sessions { failures.removeAll() }
    failures[session, default: Failures()].note(at: now)
    if failedHosts.count >= Limits.sessions {
      failedHosts = failedHosts.filter { now - $0.value < Limits.failureMemory }
    }
    for host in hosts where failedHosts[host] != nil || failedHosts.count < Limits.sessions {
      failedHosts[host] = now
    }
  }

  var failureCounts: (sessions: Int, hosts: Int) { (failures.count, failedHosts.count) }

  mutating func noteSuccess(of session: SessionID) { failures[session] = nil }

  mutating func keep(_ session: SessionID, reconsiderAt: Micros) {
    table[session]?.standing = .known(reconsiderAt: reconsiderAt)
    if looks.count >= Limits.sessions { looks.removeAll() }
    looks[session, default: 0] += 1
    nextReconsideration = min(reconsiderAt, nextReconsideration ?? reconsiderAt)
  }

  /// Records that we have left the session `left` and joined the session `joined`.
  mutating func change(from left: SessionID, to joined: SessionID, reconsiderAt: Micros) {
    table[joined]?.standing = nil
    guard table[left] != nil else { return }
    looks[left] = looks[joined]
    keep(left, reconsiderAt: reconsiderAt)
  }

  func looks(at session: SessionID) -> Int { looks[session] ?? 0 }

  /// Queues every known session that is due for another measurement.
  mutating func reconsider(at now: Micros) {
    guard let due = nextReconsideration, due <= now else { return }
    nextReconsideration = nil
    var waiting: [SessionID] = []
    for (session, known) in table {
      guard case .known(let time) = known.standing else { continue }
      if time <= now {
        waiting.append(session)
      } else {
        nextReconsideration = min(time, nextReconsideration ?? time)
      }
    }
    for session in waiting.sorted() { enqueue(session, at: now) }
  }
}

/// The failed measurements of one session, and the end of the pause that follows them.
private struct Failures: Sendable {
  private var count = 0
  private var last = Micros.zero
  private(set) var pauseEnd = Micros.zero

  func isForgotten(at now: Micros) -> Bool { now - last >= Limits.failureMemory }

  mutating func note(at now: Micros) {
    count = isForgotten(at: now) ? 1 : count + 1
    last = now
    // A single failure may come from a peer that left or from a poor network. After it we measure again at
    // the next announcement, as Ableton's library does.
    guard count > 1 else { return }
    let doubled = Limits.firstPause.count << Int64(min(count - 2, 20))
    pauseEnd = now + min(Micros(doubled), Limits.longestPause)
  }
}

/// A first-in, first-out queue. It may contain sessions that are gone; `removeFirst` skips them.
private struct Queue: Sendable {
  typealias Entry = (session: SessionID, host: Address?)
  private var entries: [Entry] = []
  private var head = 0

  /// Appends an entry. Compacts the queue from time to time: sessions that come and go while nothing is
  /// measured must not make it grow.
  mutating func append(_ entry: Entry, in table: [SessionID: KnownSession]) {
    entries.append(entry)
    guard entries.count > 4 * Limits.sessions else { return }
    var seen: Set<SessionID> = []
    entries = entries[head...].filter {
      table[$0.session]?.standing == .waiting && seen.insert($0.session).inserted
    }
    head = 0
  }

  mutating func removeFirst(from table: [SessionID: KnownSession]) -> Entry? {
    while head < entries.count {
      let entry = entries[head]
      head += 1
      if table[entry.session]?.standing == .waiting { return entry }
    }
    entries.removeAll(keepingCapacity: true)
    head = 0
    return nil
  }
}
