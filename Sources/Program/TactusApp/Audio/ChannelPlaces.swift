// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import TactusJACK
import TactusSurface

/// The peers' channels that tactus receives. Each has a place: two ports of JACK, and a lane. The choice is
/// made again whenever the offered or the wanted channels change; it then looks at all offered channels,
/// which may be a thousand.
///
/// While a channel is offered, its place follows the channel's id, even if its name changes, and the place's
/// ports keep their names. When the peer comes back with new ids, the place follows the name. Peers choose
/// their names and may change them at any rate, so a pattern gives a place only to a channel that has kept
/// its name for a second, and at a limited pace.
struct ChannelPlaces {
  struct Place: Equatable {
    /// The channel's name PEER/CHANNEL at the time when the place was made. The place's ports have this
    /// name, and no other place has it.
    let name: String
    /// The channel's present name PEER/CHANNEL.
    var title: String
    /// The channel's id in its peer's current run; nil: the place waits for its channel.
    var channel: ChannelID?
    /// When `channel` was set; nil: it was never set.
    var since: Micros?
    /// The option's text by which the user chose the channel.
    var words: ReceivedText?
    /// When the peer stopped offering the channel; nil: it offers the channel now.
    var goneSince: Micros?
    /// Whether the channel has been silent since it appeared and has no cable, so that its audio is not
    /// requested.
    var isAsleep = false
  }

  /// The time for three rules: a channel must keep its name for this long before a pattern gives it a place;
  /// a place keeps its channel for at least this long; and a place without channel and cable ends after this
  /// time.
  static let settlingTime = Micros(1_000_000)
  /// A channel that has no cable and is silent for this time falls asleep: tactus stops receiving it.
  static let wakefulness = Micros(5_000_000)
  /// Limits how often a pattern makes a new place or gives a place another channel.
  static let changesPerSecond = 4.0
  static let changesAtOnce = Double(AudioChannelPorts.limit)

  private(set) var places: [Place] = []
  /// A number that grows with each change of `places`.
  private(set) var changes = 0
  private(set) var offered: [ChannelNames.Named] = []
  private(set) var offeredNames: [String] = []
  /// The channels that match a pattern but get no place, best first.
  private(set) var leftOut: [ChannelNames.Named] = []
  /// The time at which each offered name appeared.
  private var offeredSince: [String: Micros] = [:]
  private var wanted: [ReceivedText] = []
  /// The entries of `wanted` that are names and not patterns.
  private var exact: Set<String> = []
  /// The names of the places with a connected JACK port.
  private var cabled: Set<String> = []
  /// Channels that have sounded since they appeared.
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

  /// - Parameter cabled: the names of all places with a cable.
  /// - Parameter sounding: the channels that sound now.
  mutating func note(cabled: Set<String>, sounding: Set<ChannelID>, at now: Micros) {
    let sounded = sounded.union(sounding)
    guard cabled != self.cabled || sounded != self.sounded else { return }
    (self.cabled, self.sounded) = (cabled, sounded)
    settle(at: now)
  }

  /// Chooses again when a change that had to wait is due.
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
      // A text that names one channel wins over a pattern.
      places[index].words = words.first(where: \.isExact) ?? words.first
      places[index].isAsleep = isAsleep(place, at: now)
    }
  }

  private mutating func followIDs(at now: Micros) {
    let names = Dictionary(offered.map { ($0.id, $0.name) }) { first, _ in first }
    for index in places.indices {
      if let id = places[index].channel, let name = names[id] {
        places[index].goneSince = nil
        // Limit new titles: each is written into JACK's metadata.
        if name != places[index].title, mayChange(name, at: now), takeTurn(at: now) {
          places[index].title = name
        }
      } else {
        places[index].goneSince = places[index].goneSince ?? now
      }
    }
  }

  /// If a peer has started again, a place whose channel has gone takes the new channel of the same name. It
  /// takes the channel even from a younger place, unless that place has a cable or its name is in `wanted`.
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

  /// Gives the place another channel. Each change costs a new lane, whose memory is locked. Returns false if
  /// the change must wait.
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
    // A place with this name already waits for the channel, so the channel gets no second place.
    let awaited = Set(places.lazy.filter { $0.goneSince != nil }.flatMap { [$0.name, $0.title] })
    for channel in order.ranked where !held.contains(channel.id) && !awaited.contains(channel.name) {
      guard exact.contains(channel.name) || mayChange(channel.name, at: now) else { continue }
      guard makeRoom(channel, order) else {
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

  /// Whether the name has stayed the same for long enough, and the limit allows another change now.
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

  /// Makes room for one more channel if all places are taken. First choice: ends the place whose channel
  /// has been away the longest. Second choice: a silent place without a cable that ranks lower than the new
  /// channel. Third choice: a silent place of a peer that has more places than the channel's peer. When the
  /// ended place is back, its cables are made again. Returns false if no place can end.
  ///
  /// - Parameter channel: nil: the user named a channel that no peer offers. It comes before all patterns.
  private mutating func makeRoom(_ channel: ChannelNames.Named?, _ order: ChannelOrder? = nil) -> Bool {
    guard places.count >= AudioChannelPorts.limit else { return true }
    let gone = places.indices.filter { places[$0].goneSince != nil && !isNamed(places[$0]) }
    if let oldest = gone.min(by: { (places[$0].goneSince ?? .zero) < (places[$1].goneSince ?? .zero) }) {
      places.remove(at: oldest)
      return true
    }
    let silent = places.indices.filter { index in
      !isKept(places[index]) && places[index].channel.map { !sounded.contains($0) } ?? true
    }
    func rankOf(_ index: Int) -> ChannelOrder.Rank { places[index].channel.flatMap { order?[$0] } ?? .last }
    let rank = channel.flatMap { order?[$0.id] }
    // If places are equal, the last one ends.
    let lower = silent.reversed().filter { index in rank.map { rankOf(index) > $0 } ?? true }
    let lowest = lower.max { rankOf($0) < rankOf($1) }
    let equal = silent.filter { index in rank.map { !(rankOf(index) < $0) } ?? false }
    guard let last = lowest ?? channel.flatMap({ lastOfLargestShare(equal, beside: $0.peer) }) else {
      return false
    }
    places.remove(at: last)
    return true
  }

  /// The last of these places that belongs to the peer with the most places; nil: that peer has at most one
  /// place more than `peer`, so the two peers would take the place from each other again and again.
  private func lastOfLargestShare(_ indices: [Int], beside peer: NodeID) -> Int? {
    let peers = Dictionary(offered.map { ($0.id, $0.peer) }) { first, _ in first }
    func owner(_ place: Place) -> NodeID? { place.channel.flatMap { peers[$0] } }
    let shares = Dictionary(grouping: places.compactMap(owner)) { $0 }.mapValues(\.count)
    func share(_ index: Int) -> Int { owner(places[index]).flatMap { shares[$0] } ?? 0 }
    guard let last = indices.reversed().max(by: { share($0) < share($1) }) else { return nil }
    return share(last) > (shares[peer] ?? 0) + 1 ? last : nil
  }
}
