// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import ControlSurface
import JACKHost
import LinkWire

/// Decides which channels of peers are received. Each has a place under its name, and keeps it while its peer
/// is away. The places are decided when the offered or the wanted channels change, in one pass over all
/// offers: there may be a thousand.
///
/// Peers choose the names, and may change them all the time. A place costs two JACK ports and a lane, so `*`
/// gives one only to a channel that has kept its name for a second, and at a limited rate.
struct ChannelPlaces {
  struct Place: Equatable {
    let name: String
    /// The channel's id in its peer's current run; nil: it was never offered, or it plays under another name
    /// now.
    var channel: ChannelID?
    /// When `channel` changed last; nil: there was none yet.
    var since: Micros?
    /// The user's text that applies to this channel: its own, or one with `*`.
    var words: ReceivedText?
    /// Since when no peer has offered it; nil: a peer offers it.
    var goneSince: Micros?
  }

  /// A channel must keep its name this long before `*` gives it a place, and a place keeps its channel this
  /// long.
  static let patience = Micros(1_000_000)
  /// Limits for the places that `*` gives, and for changes of the channels in them.
  static let changesPerSecond = 4.0
  static let changesAtOnce = Double(AudioChannelPorts.limit)

  private(set) var places: [Place] = []
  /// How often `places` has changed.
  private(set) var changes = 0
  private(set) var offered: [ChannelNames.Named] = []
  private(set) var offeredNames: [String] = []
  /// Since when each name has been offered.
  private var offeredSince: [String: Micros] = [:]
  private var wanted: [ReceivedText] = []
  private var pace: TokenBucket?
  /// The time at which a change that had to wait becomes possible.
  private var due: Micros?
  /// The first channel that found no place.
  private(set) var crowdedOut: String?

  mutating func offer(_ offered: [ChannelNames.Named], at now: Micros) {
    self.offered = offered
    offeredNames = offered.map(\.name)
    offeredSince = Dictionary(offeredNames.map { ($0, offeredSince[$0] ?? now) }) { first, _ in first }
    settle(at: now)
  }

  mutating func want(_ wanted: [ReceivedText], at now: Micros) {
    guard wanted != self.wanted else { return }
    self.wanted = wanted
    settle(at: now)
  }

  /// Settles again when a change that had to wait is due.
  mutating func look(at now: Micros) {
    if let due, now >= due { settle(at: now) }
  }

  private mutating func settle(at now: Micros) {
    let before = places
    defer { if places != before { changes &+= 1 } }
    due = nil
    let exact = Set(wanted.filter(\.isExact).map(\.name))
    let ids = Dictionary(offered.map { ($0.name, $0.id) }) { first, _ in first }
    places.removeAll { place in !wanted.contains { $0.matches(place.name) } }
    for index in places.indices {
      let id = ids[places[index].name]
      places[index].goneSince = id == nil ? places[index].goneSince ?? now : nil
      if let id, id != places[index].channel { change(index, to: id, exact, at: now) }
    }
    crowdedOut = nil
    var names = Set(places.map(\.name))
    for name in wanted.filter(\.isExact).map(\.name) + offeredNames {
      guard !names.contains(name), wanted.contains(where: { $0.matches(name) }),
        mayHavePlace(name, exact, at: now)
      else { continue }
      guard let left = makeRoom(keeping: exact) else {
        crowdedOut = crowdedOut ?? name
        continue
      }
      if !exact.contains(name) { _ = takeTurn(at: now) }
      names.subtract(left)
      names.insert(name)
      let id = ids[name]
      places.append(
        Place(name: name, channel: id, since: id == nil ? nil : now, goneSince: id == nil ? now : nil))
    }
    for index in places.indices {
      let words = wanted.filter { $0.matches(places[index].name) }
      // A text that names this channel wins over one with `*`.
      places[index].words = words.first(where: \.isExact) ?? words.first
    }
    leaveRenamed(for: names)
  }

  /// Gives a place the channel that has its name now. Each change costs a lane with locked memory, so it may
  /// have to wait.
  private mutating func change(_ index: Int, to id: ChannelID, _ exact: Set<String>, at now: Micros) {
    if let since = places[index].since, now - since < Self.patience {
      wait(until: since + Self.patience)
    } else if exact.contains(places[index].name) || takeTurn(at: now) {
      (places[index].channel, places[index].since) = (id, now)
    }
  }

  private mutating func mayHavePlace(_ name: String, _ exact: Set<String>, at now: Micros) -> Bool {
    guard !exact.contains(name), let since = offeredSince[name] else { return true }
    guard now - since >= Self.patience else {
      wait(until: since + Self.patience)
      return false
    }
    return hasTurn(at: now)
  }

  private mutating func takeTurn(at now: Micros) -> Bool {
    guard hasTurn(at: now) else { return false }
    pace?.spend(1, at: now)
    return true
  }

  private mutating func hasTurn(at now: Micros) -> Bool {
    var turns = pace ?? TokenBucket(perSecond: Self.changesPerSecond, capacity: Self.changesAtOnce, at: now)
    defer { pace = turns }
    if turns.has(1, at: now) { return true }
    wait(until: turns.time(of: 1))
    return false
  }

  private mutating func wait(until time: Micros) { due = min(due ?? time, time) }

  /// Frees a place if all are taken: the channel that has been away the longest loses its own, unless the
  /// user named it. Its connections are made again when it is back. Returns the names that lost their places;
  /// nil: none can be freed.
  private mutating func makeRoom(keeping exact: Set<String>) -> [String]? {
    guard places.count >= AudioChannelPorts.limit else { return [] }
    let gone = places.indices.filter { places[$0].goneSince != nil && !exact.contains(places[$0].name) }
    guard let oldest = gone.min(by: { (places[$0].goneSince ?? .zero) < (places[$1].goneSince ?? .zero) })
    else { return nil }
    return [places.remove(at: oldest).name]
  }

  /// A channel that has a place under its new name plays only there.
  private mutating func leaveRenamed(for names: Set<String>) {
    let now = Dictionary(offered.map { ($0.id, $0.name) }) { first, _ in first }
    for index in places.indices where places[index].goneSince != nil {
      if let id = places[index].channel, let name = now[id], names.contains(name) {
        places[index].channel = nil
      }
    }
  }
}
