// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import ControlSurface
import JACKHost
import LinkWire

/// The channels of peers that are received. Each has a place: two ports of JACK, and a lane. Decides when the
/// offered or the wanted channels change, and then looks through all that are offered: there may be a
/// thousand.
///
/// While a channel is there, its id decides: the place follows it through all names, and its ports keep
/// theirs. When its peer comes back with new ids, the name decides. Peers choose their names and may change
/// them at any rate, so a pattern gives a place only to a channel that has kept its name for a second, and at
/// a limited pace.
struct ChannelPlaces {
  struct Place: Equatable {
    /// PEER/CHANNEL when the place was made. Its ports are called so; no other place has this name.
    let name: String
    /// PEER/CHANNEL now.
    var title: String
    /// The channel's id in its peer's current run; nil: the place waits for its channel.
    var channel: ChannelID?
    /// When `channel` was set; nil: never.
    var since: Micros?
    /// The words of the user that chose the channel.
    var words: ReceivedText?
    /// When the channel went; nil: it is there.
    var goneSince: Micros?
    /// The channel has been silent since it appeared and has no cable, so its audio is not requested.
    var isAsleep = false
  }

  /// A channel must keep its name this long before a pattern gives it a place. A place keeps its channel this
  /// long, and a place without channel and cable ends after this time.
  static let settlingTime = Micros(1_000_000)
  /// A channel without a cable that is silent for this time falls asleep.
  static let wakefulness = Micros(5_000_000)
  /// Limits for new places of patterns, and for new channels in them.
  static let changesPerSecond = 4.0
  static let changesAtOnce = Double(AudioChannelPorts.limit)

  private(set) var places: [Place] = []
  /// How often `places` has changed.
  private(set) var changes = 0
  private(set) var offered: [ChannelNames.Named] = []
  private(set) var offeredNames: [String] = []
  /// The channels that a pattern matches and that find no place, best first.
  private(set) var leftOut: [ChannelNames.Named] = []
  /// When each of these names appeared.
  private var offeredSince: [String: Micros] = [:]
  private var wanted: [ReceivedText] = []
  /// The names in `wanted` that are no patterns.
  private var exact: Set<String> = []
  /// The names of places that have a cable.
  private var cabled: Set<String> = []
  /// Channels that have been heard since they appeared.
  private var sounded: Set<ChannelID> = []
  private var pace: TokenBucket?
  /// The time at which a change that had to wait becomes possible.
  private var due: Micros?

  mutating func offer(_ offered: [ChannelNames.Named], at now: Micros) {
    self.offered = offered.sorted { NaturalOrder.precedes($0.name, $1.name) }
    offeredNames = self.offered.map(\.name)
    offeredSince = Dictionary(offeredNames.map { ($0, offeredSince[$0] ?? now) }) { first, _ in first }
    sounded.formIntersection(offered.map(\.id))
    settle(at: now)
  }

  mutating func want(_ wanted: [ReceivedText], at now: Micros) {
    guard wanted != self.wanted else { return }
    self.wanted = wanted
    exact = Set(wanted.filter(\.isExact).map(\.name))
    settle(at: now)
  }

  /// - Parameter cabled: the names of all places that have a cable.
  /// - Parameter sounding: channels that are heard now.
  mutating func note(cabled: Set<String>, sounding: Set<ChannelID>, at now: Micros) {
    let sounded = sounded.union(sounding)
    guard cabled != self.cabled || sounded != self.sounded else { return }
    (self.cabled, self.sounded) = (cabled, sounded)
    settle(at: now)
  }

  /// Settles again when a change that had to wait is due.
  mutating func poll(at now: Micros) {
    if let due, now >= due { settle(at: now) }
  }

  private mutating func settle(at now: Micros) {
    let before = places
    defer { if places != before { changes &+= 1 } }
    due = nil
    places.removeAll { place in
      !wanted.contains { $0.matches(place.name) || $0.matches(place.title) }
    }
    followIDs(at: now)
    takeBackByName(at: now)
    freePlaces(at: now)
    fillPlaces(at: now)
    for index in places.indices {
      let place = places[index]
      let words = wanted.filter { $0.matches(place.name) || $0.matches(place.title) }
      // The name of one channel counts before a pattern.
      places[index].words = words.first(where: \.isExact) ?? words.first
      places[index].isAsleep = isAsleep(place, at: now)
    }
  }

  private mutating func followIDs(at now: Micros) {
    let names = Dictionary(offered.map { ($0.id, $0.name) }) { first, _ in first }
    for index in places.indices {
      if let id = places[index].channel, let name = names[id] {
        places[index].goneSince = nil
        // Each new title is written into JACK's metadata.
        if name != places[index].title, mayChange(name, at: now), takeTurn(at: now) {
          places[index].title = name
        }
      } else {
        places[index].goneSince = places[index].goneSince ?? now
      }
    }
  }

  /// A place whose channel has gone takes the channel that has its name now: its peer has started again. It
  /// takes it even from a younger place, if that one has no cable.
  private mutating func takeBackByName(at now: Micros) {
    let ids = Dictionary(offered.map { ($0.name, $0.id) }) { first, _ in first }
    for index in places.indices where places[index].goneSince != nil {
      let place = places[index]
      guard let name = [place.title, place.name].first(where: { ids[$0] != nil }), let id = ids[name] else {
        continue
      }
      let holder = places.firstIndex { $0.channel == id && $0.goneSince == nil }
      if let holder, holder < index || isKept(places[holder]) { continue }
      guard change(index, to: id, at: now) else { continue }
      (places[index].title, places[index].goneSince) = (name, nil)
      if let holder { (places[holder].channel, places[holder].goneSince) = (nil, now) }
    }
  }

  private mutating func isAsleep(_ place: Place, at now: Micros) -> Bool {
    guard let channel = place.channel, let since = place.since, !isKept(place),
      !sounded.contains(channel)
    else { return false }
    if now >= since + Self.wakefulness { return true }
    wait(until: since + Self.wakefulness)
    return false
  }

  /// Channels without a cable that may have begun to sound.
  var unheard: [ChannelID] {
    (places.filter(\.isAsleep).compactMap(\.channel) + leftOut.map(\.id)).filter { !sounded.contains($0) }
  }

  private func isKept(_ place: Place) -> Bool {
    cabled.contains(place.name) || isNamed(place)
  }

  private func isNamed(_ place: Place) -> Bool {
    exact.contains(place.name) || exact.contains(place.title)
  }

  private mutating func freePlaces(at now: Micros) {
    var over: Set<String> = []
    for place in places where !isKept(place) {
      guard let gone = place.goneSince else { continue }
      if now >= gone + Self.settlingTime {
        over.insert(place.name)
      } else {
        wait(until: gone + Self.settlingTime)
      }
    }
    places.removeAll { over.contains($0.name) }
  }

  /// Gives the place another channel. Each costs a lane, whose memory is locked. Returns false if it must
  /// wait.
  private mutating func change(_ index: Int, to id: ChannelID, at now: Micros) -> Bool {
    if let since = places[index].since, now - since < Self.settlingTime {
      wait(until: since + Self.settlingTime)
      return false
    }
    guard isNamed(places[index]) || takeTurn(at: now) else { return false }
    (places[index].channel, places[index].since) = (id, now)
    return true
  }

  private mutating func fillPlaces(at now: Micros) {
    leftOut = []
    let ids = Set(offeredNames)
    for name in wanted.filter(\.isExact).map(\.name) where !ids.contains(name) {
      guard !places.contains(where: { $0.name == name || $0.title == name }) else { continue }
      guard makeRoom(nil) else { break }
      places.append(Place(name: name, title: name, goneSince: now))
    }
    let order = ChannelOrder(offered, wanted, sounded)
    let held = Set(places.lazy.filter { $0.goneSince == nil }.compactMap(\.channel))
    // A place that waits takes the channel of its name when its time has come.
    let awaited = Set(places.lazy.filter { $0.goneSince != nil }.flatMap { [$0.name, $0.title] })
    for channel in order.ranked where !held.contains(channel.id) && !awaited.contains(channel.name) {
      guard exact.contains(channel.name) || mayChange(channel.name, at: now) else { continue }
      guard makeRoom(order[channel.id], order) else {
        leftOut.append(channel)
        continue
      }
      if !exact.contains(channel.name) { _ = takeTurn(at: now) }
      places.append(
        Place(
          name: channel.name.unique(before: " ") { name in places.contains { $0.name == name } },
          title: channel.name, channel: channel.id, since: now))
    }
  }

  /// Whether the peer has kept this name for long enough, and another change is allowed now.
  private mutating func mayChange(_ name: String, at now: Micros) -> Bool {
    guard let since = offeredSince[name] else { return true }
    guard now - since >= Self.settlingTime else {
      wait(until: since + Self.settlingTime)
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

  /// Ends a place for one more channel if all are taken: the one whose channel has been away the longest, or
  /// a silent one without a cable that ranks lower. Cables of a place that ended are made again when it is
  /// back. Returns false if there is none.
  private mutating func makeRoom(_ rank: ChannelOrder.Rank?, _ order: ChannelOrder? = nil) -> Bool {
    guard places.count >= AudioChannelPorts.limit else { return true }
    let gone = places.indices.filter { places[$0].goneSince != nil && !isNamed(places[$0]) }
    if let oldest = gone.min(by: { (places[$0].goneSince ?? .zero) < (places[$1].goneSince ?? .zero) }) {
      places.remove(at: oldest)
      return true
    }
    let silent = places.indices.filter { index in
      !isKept(places[index]) && places[index].channel.map { !sounded.contains($0) } ?? true
    }
    func rankOf(_ index: Int) -> ChannelOrder.Rank? { places[index].channel.flatMap { order?[$0] } }
    // A name without a channel comes before all patterns. Of equals the last goes.
    let lower = silent.reversed().filter { index in
      rank.map { (rankOf(index) ?? .last) > $0 } ?? true
    }
    guard let last = lower.max(by: { (rankOf($0) ?? .last) < (rankOf($1) ?? .last) }) else { return false }
    places.remove(at: last)
    return true
  }
}
