// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Link
import LinkAudio
import LinkAudioLanes
import LinkAudioSession
import LinkBeatMath
import LinkSystem
import LinkWire
import Synchronization
import TactusChoices
import TactusJACK
import TactusOSC
import TactusSurface

/// Connects Link Audio and JACK, which do not know each other: each channel to send or receive gets a lane,
/// with a channel of the session at one end and ports at the other. [control]
final class ReceivedChannels {
  fileprivate struct Sent {
    let text: SentText
    let lane: SendLane
    let sink: LinkAudio.Sink
  }

  /// A received channel's place, with its lane and its source.
  fileprivate struct Taken {
    var place: ChannelPlaces.Place
    var name: String { place.title }
    /// The channel that `lane` was made for, and the longest delay that the lane holds, in seconds.
    var channel: ChannelID?
    var room = 0.0
    var lane: ReceiveLane?
    var source: LinkAudio.Source?
    /// The delay that the user gave this channel, if any.
    var delay: AudioDelay? { place.words?.delay }
  }

  private let link: Link
  /// The name of this peer in the session while the user has chosen none.
  private let ownName: String
  private var chosenName = ChosenName()
  /// Link Audio; nil until the user first wants it.
  private var audio: LinkAudio?
  private let offers = Offers()
  private var names = ChannelNames()
  private var offerPace = OfferPace()
  private var presence = ChannelPresence()
  private var places = ChannelPlaces()
  /// The value of `places.changes` that `taken` reflects.
  private var placesSeen = 0
  private var sent: [Sent] = []
  private var taken: [Taken] = []
  private var ears = ChannelEars()
  /// Whether the JACK ports match `sent` and `taken`.
  private var isCarried = false
  private var carried: [Carried] = []
  /// The name of the place that each receiving port belongs to.
  private var placeOfPort: [String: String] = [:]
  private var nextLook = Micros.zero
  private(set) var shown = ShownAudio()
  /// The connections that the input ports of sent channels should have.
  private(set) var connections: [StandingConnection] = []

  private static let lookPeriod = Micros(500_000)

  init(_ link: Link, name: String) {
    self.link = link
    ownName = name + (hostName.map { "@" + $0 } ?? "")
  }

  /// Applies the session's channels and the user's choices. Returns whether `connections` changed.
  func poll(at now: Micros, _ state: SurfaceState, on host: JACKHost) -> Bool {
    let isOn = state.choices.audio.isOn
    guard isOn || audio?.isEnabled == true else { return false }
    guard let audio = start() else { return false }
    if chosenName != state.choices.audio.peerName {
      chosenName = state.choices.audio.peerName
      audio.peerName = chosenName.isEmpty ? ownName : chosenName.word
    }
    if audio.isEnabled != isOn { audio.isEnabled = isOn }
    if !isOn { offers.news.withLock { $0 = [] } }
    if let news = offerPace.next(at: now, offers.takeNews) {
      places.offer(names.names(of: news, at: now), at: now)
    }
    send(isOn ? state.lists.sends.compactMap { SentText($0) } : [], audio)
    places.want(isOn ? state.lists.receives.compactMap { ReceivedText($0) } : [], at: now)
    places.poll(at: now)
    if now >= nextLook { noteUse(of: host, audio, at: now) }
    receive(state, audio)
    return carry(on: host)
  }

  /// The state of all channels and the lines about them, twice a second. nil: not due yet, or Link Audio was
  /// never on.
  func figures(at now: Micros) -> (shown: ShownAudio, news: [String])? {
    guard now >= nextLook, let audio else { return nil }
    nextLook = now + Self.lookPeriod
    var shown = ShownAudio()
    shown.offered = places.offeredNames
    shown.thread = .init(audio.diagnostics.scheduling)
    shown.channels = sent.map(\.shown) + taken.map(\.shown)
    let news = presence.lines(
      taken.map { ($0.name, $0.isThere) }, crowds: places.crowds, at: now)
    self.shown = shown
    return (shown, news)
  }

  /// Says goodbye to Link Audio's peers. [any]
  var farewell: @Sendable () -> Void { { [offers] in offers.audio.withLock { $0 }?.isEnabled = false } }

  /// The program's one `LinkAudio`; nil only if other code has made one for the same `Link`.
  private func start() -> LinkAudio? {
    if let audio { return audio }
    guard let audio = try? LinkAudio(link, peerName: ownName) else { return nil }
    audio.onAudioChannels { [offers] list in offers.news.withLock { $0 = list } }
    offers.audio.withLock { $0 = audio }
    self.audio = audio
    return audio
  }

  private func send(_ wanted: [SentText], _ audio: LinkAudio) {
    var names: Set<String> = []
    let wanted = wanted.filter { names.insert($0.name).inserted }.prefix(AudioChannelPorts.limit)
    guard sent.map(\.text) != Array(wanted) else { return }
    isCarried = false
    sent = wanted.compactMap { text in
      if let same = sent.first(where: { $0.text == text }) { return same }
      let lane = SendLane(channels: text.isMono ? 1 : 2)
      lane.forEachBlock { mlock($0.baseAddress, $0.count) }
      return audio.publish(lane, as: text.name).map { Sent(text: text, lane: lane, sink: $0) }
    }
  }

  private func receive(_ state: SurfaceState, _ audio: LinkAudio) {
    func room(of one: Taken) -> Double { (one.delay ?? state.choices.audio.delay).room(state) }
    guard
      placesSeen != places.changes || taken.contains(where: { $0.channel != nil && room(of: $0) > $0.room })
    else { return }
    (placesSeen, isCarried) = (places.changes, false)
    let before = Dictionary(uniqueKeysWithValues: taken.map { ($0.place.name, $0) })
    // Release the old sources last. Otherwise, if a new place takes the channel of an old one, the
    // channel's peer would receive a stop in between.
    defer { withExtendedLifetime(before) {} }
    taken = places.places.map { place in
      var one = before[place.name] ?? Taken(place: place)
      one.place = place
      let room = room(of: one)
      guard let channel = place.channel, !place.isAsleep else {
        (one.channel, one.lane, one.source, one.room) = (nil, nil, nil, 0)
        return one
      }
      guard channel != one.channel || room > one.room else { return one }
      let lane = ReceiveLane(longestDelay: room)
      lane.forEachBlock { mlock($0.baseAddress, $0.count) }
      (one.channel, one.lane, one.room) = (channel, lane, room)
      one.source = audio.subscribe(lane, to: channel)
      return one
    }
  }

  /// Notes which places have a cable, and which channels sound.
  private func noteUse(of host: JACKHost, _ audio: LinkAudio, at now: Micros) {
    let cabled = Set(host.connections.compactMap { placeOfPort[$0.port] })
    var sounding = Set(taken.filter(\.sounds).compactMap(\.channel))
    sounding.formUnion(ears.listen(to: places.unheard, audio))
    places.note(cabled: cabled, sounding: sounding, at: now)
  }

  private func carry(on host: JACKHost) -> Bool {
    guard !isCarried else { return false }
    isCarried = true
    var names: Set<String> = []
    func unique(_ name: String) -> String {
      let found = name.unique(before: "-", isTaken: names.contains)
      names.insert(found)
      return found
    }
    let sends = sent.map { one in
      AudioChannelPorts(
        name: unique("\(ChannelPortName.sent)\(one.text.name.forPort)"), pretty: "Send \(one.text.name)",
        lane: .send(one.lane))
    }
    let receives = taken.map { one in
      AudioChannelPorts(
        name: unique(one.place.name.forPort), pretty: one.name, lane: .receive(one.lane), delay: one.delay)
    }
    let now = (sends + receives).map { Carried($0) }
    guard now != carried else { return false }
    carried = now
    placeOfPort = [:]
    for (one, ports) in zip(taken, receives) {
      for port in ports.portNames { placeOfPort[port] = one.place.name }
    }
    host.carry(sends + receives)
    let before = connections
    connections = zip(sent, sends).flatMap { one, ports in
      zip(ports.portNames, one.text.ports).map { .ports($0, $1) }
    }
    return connections != before
  }

  private final class Offers: Sendable {
    /// The whole list of offered channels, if it changed since the last `takeNews`.
    let news = Mutex([AudioChannel]?.none)
    let audio = Mutex(LinkAudio?.none)

    func takeNews() -> [AudioChannel]? {
      news.withLock { news in
        defer { news = nil }
        return news
      }
    }
  }
}

extension ShownAudio.Thread {
  fileprivate init(_ urgency: LinkAudio.Scheduling) {
    self =
      switch urgency {
      case .realTime: .realTime
      case .ordinary: .ordinary
      case .slowed: .slowed
      }
  }
}

extension ReceivedChannels.Sent {
  fileprivate var shown: ShownChannel {
    var shown = ShownChannel(name: text.name, isSent: true)
    shown.listeners = sink.listenerCount
    return shown
  }
}

extension ReceivedChannels.Taken {
  fileprivate var isThere: Bool { place.isAsleep ? place.goneSince == nil : source?.isConnected == true }

  fileprivate var sounds: Bool { (lane?.figures().level ?? 0) > ReceiveLane.silence }

  fileprivate var shown: ShownChannel {
    var shown = ShownChannel(name: name, isSent: false)
    shown.takenBy = place.words?.text ?? ""
    let figures = lane?.figures() ?? .init()
    shown.state =
      !isThere
      ? .absent
      : place.isAsleep ? .silent : !figures.isReceiving ? .idle : figures.isPlaying ? .plays : .begins
    func rounded(_ value: Double) -> Double { (value * 10).rounded() / 10 + 0 }
    shown.delayMilliseconds = rounded(figures.delay)
    shown.bufferMilliseconds = figures.buffered.rounded()
    shown.jitterMilliseconds = rounded(figures.jitter)
    shown.arrivalMilliseconds = rounded(figures.arrivalOffset)
    shown.decibels = figures.level > 0 ? max(-90, (20 * log10(Double(figures.level))).rounded()) : -90
    shown.sampleRate = Int(figures.sampleRate)
    shown.dropouts = Int(clamping: figures.dropouts)
    shown.lost = Int(clamping: figures.lost)
    shown.late = Int(clamping: figures.late)
    return shown
  }
}

/// The properties of a channel that its ports depend on: if one changes, the ports are made again.
private struct Carried: Equatable {
  let name: String
  let pretty: String
  let lane: ObjectIdentifier?
  let delay: AudioDelay?

  init(_ ports: AudioChannelPorts) {
    (name, pretty, delay) = (ports.name, ports.pretty, ports.delay)
    lane =
      switch ports.lane {
      case .send(let lane): ObjectIdentifier(lane)
      case .receive(let lane): lane.map { ObjectIdentifier($0) }
      }
  }
}
