// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import MIDIControl

/// The control surface without sockets, clocks or threads: datagrams and state in, datagrams and commands out.
///
/// It owns no liblo server and reads no time; it is handed both clocks with each event. After every mutation call
/// `nextOutput` until it returns nil, answer each order with `settle`, and come back at `deadline`.
struct SurfaceMachine {
  enum Output {
    case send([UInt8], to: Peer)
    case order(Order)
    case notice(Notice)
    /// What was learned from a controller is otherwise now.
    case learned([MIDIBinding])
  }

  let settings: SurfaceSettings
  var clocks: Clocks
  var reading: Reading
  var counters = SurfaceCounters()
  var subscribers: [Subscriber] = []
  var agenda = Agenda()
  var gate = TempoGate<Asker>()
  var taps = Taps()
  var rates: SourceRates
  var refusedNews = Self.news
  private var malformedNews = Self.news
  private static let news = TokenBucket(
    perSecond: Limits.complaintsPerSecond, capacity: Limits.complaints, at: .zero)
  var feeds: Feeds
  var neighbourhood = Neighbourhood()
  /// Others of our kind, and when they were heard last.
  var tellers: [Endpoint: Micros] = [:]
  var strangerDue = Micros.zero
  var midi: MIDIMap
  var levels = KnobLevels()
  var lastEvent: MIDIEventName?
  /// What each row was told last, and the same ready to be sent.
  var told: [[Argument]]
  var encoded: [[UInt8]?]
  var expectationEnds: Micros?
  /// A counter of our own has moved: told soon, not at each bad packet of a flood.
  var comparisonDue: Micros?
  private var outputs: [Output] = []
  private var drained = 0

  init(_ settings: SurfaceSettings, state: SurfaceState, clocks: Clocks) {
    self.settings = settings
    self.clocks = clocks
    reading = Reading(state: state, own: Own(), version: settings.version)
    rates = SourceRates(messagesPerSecond: settings.messagesPerSecond)
    feeds = Feeds(state: state, at: clocks.host)
    midi = MIDIMap(configured: settings.bindings, learned: settings.learned)
    reading.own.learnedCount = midi.learned.count
    told = Table.rows.map { [reading] in $0.read?(reading) ?? [] }
    encoded = Array(repeating: nil, count: Table.rows.count)
    for target in settings.targets {
      subscribers.append(
        Subscriber(
          target: target, source: target, groups: settings.targetGroups, dialect: .own,
          lease: Micros(Int64.max / 4),
          at: clocks.host))
    }
    for index in subscribers.indices { dump(to: index) }
  }

  var now: Micros { clocks.host }

  mutating func nextOutput() -> Output? {
    guard drained < outputs.count else {
      outputs.removeAll(keepingCapacity: true)
      drained = 0
      return nil
    }
    drained += 1
    return outputs[drained - 1]
  }

  mutating func put(_ output: Output) { outputs.append(output) }

  /// One datagram.
  mutating func receive(_ bytes: UnsafeRawBufferPointer, from peer: Peer, clocks: Clocks) {
    self.clocks = clocks
    counters.datagrams += 1
    guard obeys(peer) else { return refuseStranger(peer) }
    guard rates.mayAsk(peer.endpoint, at: now) else {
      counters.tooFast += 1
      return
    }
    let parts: [PacketCheck.Part]
    do {
      parts = try PacketCheck.parts(of: bytes)
    } catch {
      malformed(error, from: peer)
      return
    }
    let messages = parts.map { LibloCodec.decode(UnsafeRawBufferPointer(rebasing: bytes[$0.range])) }
    guard !isTelling(peer, messages.compactMap { $0 }) else { return }
    heard(from: peer)
    for (part, message) in zip(parts, messages) {
      guard let message else {
        malformed(.typeTags, from: peer)
        continue
      }
      counters.messages += 1
      let wait = part.timetag.isImmediate ? 0 : part.timetag.seconds(since: clocks.wall)
      if wait > 0 {
        schedule(message, part.timetag, wait: wait, from: peer)
      } else {
        // Late ones at once. A tap counts from when it was made, so that Wi-Fi's jitter does not.
        let made = wait < 0 && wait > -1 ? clocks.host(of: part.timetag) : now
        obey(message, from: peer, at: made)
      }
    }
    advance()
  }

  private mutating func malformed(_ reason: MalformedPacket, from peer: Peer) {
    counters.malformed += 1
    if rates.mayBeToldOff(peer.endpoint, at: now), malformedNews.take(at: now) {
      put(.notice(.malformed(reason.rawValue, from: peer.endpoint)))
    }
  }

  private mutating func schedule(_ message: Message, _ timetag: Timetag, wait: Double, from peer: Peer) {
    guard wait <= Limits.horizonSeconds else {
      refuse(
        .refused("\(brief(wait)) s ahead; at most \(brief(Limits.horizonSeconds))"), message.address, to: peer
      )
      return
    }
    let entry = Agenda.Entry(due: .wall(timetag), task: .message(message), peer: peer)
    if !agenda.add(entry, clocks: clocks, state: reading.state) {
      counters.agendaFull += 1
      refuse(Refusal(.notNow, "\(Limits.agenda) messages wait already"), message.address, to: peer)
    }
  }

  /// The program's state, whole; what differs is told.
  mutating func update(_ state: SurfaceState, clocks: Clocks) {
    self.clocks = clocks
    guard state != reading.state else { return }
    let before = reading.state
    reading.state = state
    if state.tempo == before.tempo {
    } else if let expected = reading.own.expectedTempo, abs(expected - state.tempo.beatsPerMinute) < 0.001 {
      reading.own.expectedTempo = nil
    }
    readClocks()
    tellChanges()
    feeds.stateChanged(from: before, to: state, at: now)
    advance()
  }

  /// Where controllers reach us, in words, and who is near.
  mutating func reach(_ words: String, near: Neighbourhood?, clocks: Clocks) {
    self.clocks = clocks
    neighbourhood = near ?? neighbourhood
    reading.own.reach = printable(words, limit: 255)
    tellChanges()
  }

  /// Time has passed.
  mutating func tick(clocks: Clocks) {
    self.clocks = clocks
    readClocks()
    advance()
  }

  private mutating func readClocks() {
    for entry in agenda.readClocks(clocks, state: reading.state) {
      refuse(
        Refusal(.notNow, "the session counts its beats anew, and the bar that was meant is far away"),
        "/\(settings.root)/tempo", to: entry.peer)
    }
  }

  /// All that is due by now.
  mutating func advance() {
    var budget = Limits.agenda
    while budget > 0, let entry = agenda.next(at: now) {
      budget -= 1
      switch entry.task {
      case .message(let message): obey(message, from: entry.peer, at: entry.time)
      case .tempo(let tempo): commit(tempo, Asker(peer: entry.peer, row: Self.tempoRow), at: entry.time)
      }
    }
    if let (tempo, asker) = gate.due(at: now) { commit(tempo, asker, at: now) }
    if let end = expectationEnds, now >= end {
      expectationEnds = nil
      reading.own.expectedTempo = nil
    }
    if let due = comparisonDue, now >= due {
      comparisonDue = nil
      tellChanges()
    }
    expireSubscribers()
    sendFeeds()
    flush()
  }

  /// When to come back, if nothing happens before. At least once a second, to read the wall clock anew.
  var deadline: Micros {
    var next = now + Limits.heartbeatInterval
    func consider(_ time: Micros?) {
      if let time, time < next { next = time }
    }
    consider(agenda.deadline)
    consider(gate.deadline)
    consider(expectationEnds)
    consider(comparisonDue)
    for subscriber in subscribers {
      consider(subscriber.deadline)
      consider(subscriber.ends)
    }
    consider(feeds.deadline(for: audience, state: reading.state, at: now))
    return next
  }

  static let tempoRow = Table.id("tempo")?.index ?? 0
}

/// Who asked for something, and by which row.
struct Asker: Hashable, Sendable {
  var peer: Peer
  var row: Int
}
