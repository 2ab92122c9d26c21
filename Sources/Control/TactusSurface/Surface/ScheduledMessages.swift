// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
package import LinkSystem
import TactusOSC

/// The messages of bundles with a future timetag, and the tempos and songs that wait for a beat.
///
/// The number of entries is limited. Each entry keeps its sender's address, which liblo's own queue does
/// not. The wall clock may jump while an entry waits, so the entry's time is computed again whenever the
/// clocks are read.
struct ScheduledMessages {
  enum Due {
    case wall(Timetag)
    /// A beat of the session at which the entry is due. If the tempo changes before, the beat stays the
    /// same and its time moves.
    case beats(Beats)
  }

  enum Task {
    case message(Message)
    case tempo(Double)
    /// A song of the set list, by its title.
    case song(String)
  }

  struct Entry {
    var due: Due
    var task: Task
    var peer: Peer
    /// The highest possible cost of carrying out the entry. The sender was charged this cost when the
    /// entry came.
    var cost: Int
    /// The entry's number in the order of arrival. Of entries that are due at the same time, the
    /// lowest number comes first.
    var number: UInt64 = 0
    var time = Micros.zero
    var asked = Micros.zero
    var isTrusted = false
  }

  private var entries: [Entry] = []
  /// A counter that changes whenever an entry is added or removed.
  private(set) var changes: UInt64 = 0
  private var numbered: UInt64 = 0

  var count: Int { entries.count }
  var deadline: Micros? { entries.map(\.time).min() }

  /// Adds an entry. Returns false if there is no room.
  mutating func add(_ entry: Entry, trust: Trust, clocks: Clocks, state: SurfaceState) -> Bool {
    guard entries.count < SurfaceLimits.agenda, trust == .trusted || hasRoom(forAnother: entry.peer) else {
      return false
    }
    var entry = entry
    numbered += 1
    entry.number = numbered
    entry.asked = clocks.host
    entry.isTrusted = trust == .trusted
    entry.time = Self.time(of: entry.due, clocks: clocks, state: state)
    entries.append(entry)
    changes &+= 1
    return true
  }

  private func hasRoom(forAnother peer: Peer) -> Bool {
    let others = entries.filter { !$0.isTrusted }
    return others.count < SurfaceLimits.agendaOfOthers
      && others.count { $0.peer.endpoint.address == peer.endpoint.address } < SurfaceLimits.agendaOfOthers / 2
  }

  /// Sets the clocks. Removes and returns the entries whose beat is now too far away, because the session has
  /// renumbered its beats.
  mutating func readClocks(_ clocks: Clocks, state: SurfaceState) -> [Entry] {
    var lost: [Entry] = []
    for index in entries.indices.reversed() {
      entries[index].time = Self.time(of: entries[index].due, clocks: clocks, state: state)
      guard case .beats = entries[index].due,
        entries[index].time > entries[index].asked + SurfaceLimits.appointment
      else { continue }
      lost.append(entries.remove(at: index))
      changes &+= 1
    }
    return lost
  }

  /// Removes and returns the earliest entry that is due.
  mutating func next(at now: Micros) -> Entry? {
    guard
      let index = entries.indices.min(by: {
        (entries[$0].time, entries[$0].number) < (entries[$1].time, entries[$1].number)
      }), entries[index].time <= now
    else { return nil }
    changes &+= 1
    return entries.remove(at: index)
  }

  /// The tasks for the next beat for which any task waits, in the order in which they arrived.
  var onNextBeat: (beat: Beats, tasks: [Task])? {
    let waiting = entries.compactMap { entry -> (beat: Beats, number: UInt64, task: Task)? in
      if case .beats(let beat) = entry.due { (beat, entry.number, entry.task) } else { nil }
    }
    guard let beat = waiting.map(\.beat).min() else { return nil }
    let here = waiting.filter { $0.beat == beat }.sorted { $0.number < $1.number }
    return (beat, here.map(\.task))
  }

  /// The tempo that waits for a beat. There is at most one, because a new tempo replaces it.
  var waitingTempo: Double? {
    for case .tempo(let tempo) in entries.map(\.task) { return tempo }
    return nil
  }

  /// Drops the tempos that wait for a beat, because a new tempo replaces them.
  mutating func dropTempos() {
    changes &+= 1
    entries.removeAll { if case .tempo = $0.task { true } else { false } }
  }

  mutating func dropSongs() {
    changes &+= 1
    entries.removeAll { if case .song = $0.task { true } else { false } }
  }

  private static func time(of due: Due, clocks: Clocks, state: SurfaceState) -> Micros {
    switch due {
    case .wall(let timetag): clocks.host(of: timetag)
    case .beats(let beats): state.time(atSessionBeats: beats)
    }
  }
}

/// Link's host clock and the wall clock, read together.
public struct Clocks: Sendable {
  public var host: Micros
  var wall: Timetag

  public init(host: Micros, unixSeconds: Int64, nanoseconds: Int64) {
    self.host = host
    wall = Timetag(unixSeconds: unixSeconds, nanoseconds: nanoseconds)
  }

  func host(of timetag: Timetag) -> Micros {
    host + Micros(rounding: timetag.seconds(since: wall) * 1e6)
  }
}

/// A sender, and the socket of ours that its packets reach.
public struct Peer: Hashable, Sendable {
  public var endpoint: Endpoint
  public var socket: Int
  /// The browser's connection; nil: a controller that sends datagrams, or an input on this machine without an
  /// address.
  let browser: Browser?
  /// The interface through which the peer's last datagram came, and our address to which it was sent; the
  /// answer leaves from that address. Equality ignores this: a tablet that comes through another interface is
  /// the same tablet.
  package var arrival: PacketInfo?

  public init(_ endpoint: Endpoint, socket: Int = 0) {
    self.endpoint = endpoint
    self.socket = socket
    browser = nil
  }

  /// A browser's connection, and the address from which it came.
  package init(_ browser: Browser, at endpoint: Endpoint) {
    self.endpoint = endpoint
    self.browser = browser
    socket = -1
  }

  public static func == (left: Peer, right: Peer) -> Bool {
    left.endpoint == right.endpoint && left.socket == right.socket && left.browser == right.browser
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(endpoint)
    hasher.combine(socket)
    hasher.combine(browser)
  }
}
