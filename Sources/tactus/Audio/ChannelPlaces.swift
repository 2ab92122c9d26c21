// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import ControlSurface
import JACKHost
import LinkWire

/// Which channels of others are received: each has a place by its name, which it keeps while its peer goes and comes back. It decides
/// when what is offered or wanted changes, and looks through all that is offered once then: there may be a thousand.
///
/// Names are their peers' own, who may change them all the time. A place is two ports of JACK and a lane, so `*` gets one only for a
/// channel that has kept its name for a second, and at a pace.
struct ChannelPlaces {
  struct Place: Equatable {
    let name: String
    /// Of its peer's current run; nil: nobody has offered it, or it sounds by another name now.
    var channel: ChannelID?
    /// When that changed to another channel; nil: it has had none.
    var since: Micros?
    /// What the user said, of it or of many.
    var words: ReceivedText?
    /// Since when nobody has offered it; nil: somebody does.
    var goneSince: Micros?
  }

  /// A channel must keep its name this long before `*` gives it a place, and a place keeps its channel this long.
  static let patience = Micros(1_000_000)
  /// Limits for new places of `*`, and for new channels in them.
  static let changesPerSecond = 4.0
  static let changesAtOnce = Double(AudioChannelPorts.limit)

  private(set) var places: [Place] = []
  /// How often `places` has changed.
  private(set) var changes = 0
  private(set) var offered: [ChannelNames.Named] = []
  private(set) var offeredNames: [String] = []
  /// Since when each of these has been offered.
  private var offeredSince: [String: Micros] = [:]
  private var wanted: [ReceivedText] = []
  private var pace: TokenBucket?
  /// When something that had to wait can change.
  private var due: Micros?
  /// The first that found no place.
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
      // Who names one channel means that one, whatever is said of all.
      places[index].words = words.first(where: \.isExact) ?? words.first
    }
    leaveRenamed(for: names)
  }

  /// Another channel has the place's name now. Each costs a lane, whose memory is locked.
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

  /// The names that left their places for one more; nil: there is none. Who has been away the longest goes, unless the user named it.
  /// Cables that it had are made again when it is back.
  private mutating func makeRoom(keeping exact: Set<String>) -> [String]? {
    guard places.count >= AudioChannelPorts.limit else { return [] }
    let gone = places.indices.filter { places[$0].goneSince != nil && !exact.contains(places[$0].name) }
    guard let oldest = gone.min(by: { (places[$0].goneSince ?? .zero) < (places[$1].goneSince ?? .zero) })
    else { return nil }
    return [places.remove(at: oldest).name]
  }

  /// A channel that has another name now, and is taken by that, sounds at its new ports alone.
  private mutating func leaveRenamed(for names: Set<String>) {
    let now = Dictionary(offered.map { ($0.id, $0.name) }) { first, _ in first }
    for index in places.indices where places[index].goneSince != nil {
      if let id = places[index].channel, let name = now[id], names.contains(name) {
        places[index].channel = nil
      }
    }
  }
}
