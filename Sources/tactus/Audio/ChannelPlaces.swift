// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import JACKHost
import LinkWire

/// Which channels of others are received: each has a place by its name, which it keeps while its peer goes and comes back. It decides
/// when what is offered or wanted changes, and looks through all that is offered once then: there may be a thousand.
struct ChannelPlaces {
  struct Place {
    let name: String
    /// Of its peer's current run; nil: nobody has offered it, or it sounds by another name now.
    var channel: ChannelID?
    /// What the user said, of it or of many.
    var words: ReceivedText?
    /// Since when nobody has offered it; nil: somebody does.
    var goneSince: Micros?
  }

  private(set) var places: [Place] = []
  /// How often `places` was looked through; only then it can have changed.
  private(set) var changes = 0
  private(set) var offered: [ChannelNames.Named] = []
  private var wanted: [ReceivedText] = []
  /// The first that found no place.
  private(set) var crowdedOut: String?

  mutating func offer(_ offered: [ChannelNames.Named], at now: Micros) {
    self.offered = offered
    settle(at: now)
  }

  mutating func want(_ wanted: [ReceivedText], at now: Micros) {
    guard wanted != self.wanted else { return }
    self.wanted = wanted
    settle(at: now)
  }

  private mutating func settle(at now: Micros) {
    changes &+= 1
    let ids = Dictionary(offered.map { ($0.name, $0.id) }) { first, _ in first }
    places.removeAll { place in !wanted.contains { $0.matches(place.name) } }
    for index in places.indices {
      let id = ids[places[index].name]
      places[index].goneSince = id == nil ? places[index].goneSince ?? now : nil
      places[index].channel = id ?? places[index].channel
    }
    crowdedOut = nil
    let exact = Set(wanted.filter(\.isExact).map(\.name))
    var names = Set(places.map(\.name))
    for name in wanted.filter(\.isExact).map(\.name) + offered.map(\.name) {
      guard !names.contains(name), wanted.contains(where: { $0.matches(name) }) else { continue }
      guard let left = makeRoom(keeping: exact) else {
        crowdedOut = crowdedOut ?? name
        continue
      }
      names.subtract(left)
      names.insert(name)
      places.append(Place(name: name, channel: ids[name], goneSince: ids[name] == nil ? now : nil))
    }
    for index in places.indices {
      let words = wanted.filter { $0.matches(places[index].name) }
      // Who names one channel means that one, whatever is said of all.
      places[index].words = words.first(where: \.isExact) ?? words.first
    }
    leaveRenamed(for: names)
  }

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
