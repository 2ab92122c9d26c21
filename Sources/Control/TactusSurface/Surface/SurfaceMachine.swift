// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusMIDI
import TactusOSC

/// The control surface without sockets, clocks or threads: datagrams and state go in, datagrams and commands
/// come out.
///
/// The machine has no liblo server and reads no clock: each event comes with the time of both clocks. After
/// every mutating call, call `nextOutput` until it returns nil, answer each order with `settle`, and call
/// `tick` at `deadline`.
///
/// More than 20 properties: each property is one part of the surface, and the machine passes values between
/// the parts.
struct SurfaceMachine {
  enum Output {
    case send([UInt8], to: Peer)
    /// A message to a program that did not subscribe.
    case outward([UInt8], to: Endpoint)
    case order(Order)
    case notice(Notice)
    /// The learned bindings have changed.
    case learned([MIDIBinding])
    /// The next change that waits for a beat has changed; nil: none waits.
    case queued(QueuedChange?)
  }

  let settings: SurfaceSettings
  var table: Table
  var clocks: Clocks
  var reading: Reading
  var counters = SurfaceCounters()
  var subscribers: [Subscriber] = []
  /// The controllers that wait for a subscription.
  var applicants: [Subscriber] = []
  var agenda = ScheduledMessages()
  var foresight = Foresight()
  var gate = TempoGate<Asker>()
  var outward: Outward
  /// The title of the song whose commands are being carried out; nil: none.
  var songBeingSaid: String?
  var taps = Taps()
  var drummer = Drummer()
  var hand = BendingHand() {
    didSet { reading.own.bent = hand.session.map { Bent(below: $0.before, during: $0.during) } }
  }
  var rates: SourceRates
  /// Limits how many outputs unpaired controllers add or remove.
  var reshaping: TokenBucket
  private var news: [Notice.Pace: TokenBucket] = [:]
  var feeds: Feeds
  var neighbourhood = Neighbourhood()
  /// The browsers that have sent something and are still connected.
  var browsers: Set<Peer> = []
  var tellers = MirrorGuard()
  var midi: MIDIMap
  var levels = KnobLevels()
  var lastEvent: MIDIEventName?
  /// The values of each row that were sent last, and their encoded messages.
  var told: [[Argument]]
  var encoded: [[UInt8]?]
  var expectationEnds: Micros?
  /// When to compare the rows because one of the surface's own counters has changed: soon, but not at each
  /// bad packet of a flood.
  var comparisonDue: Micros?
  /// The rest of what the present datagram, key or waiting message may cost.
  var allowance = Allowance()
  private var outputs: [Output] = []
  private var drained = 0
  /// The answers that were not sent yet. Successive answers to the same target leave in one bundle.
  private var replies: [(packets: [[UInt8]], target: Peer)] = []

  init(_ settings: SurfaceSettings, state: SurfaceState, clocks: Clocks) {
    self.settings = settings
    self.clocks = clocks
    reading = Reading(state: state, own: SurfaceMemory(), version: settings.version)
    rates = SourceRates()
    reshaping = TokenBucket(
      perSecond: SurfaceLimits.reshapingPerSecond, capacity: SurfaceLimits.reshapingAtOnce, at: clocks.host)
    feeds = Feeds(state: state, at: clocks.host)
    outward = Outward(settings.outward, at: clocks.host)
    midi = MIDIMap(configured: settings.bindings, learned: settings.learned)
    reading.own.learnedCount = midi.learned.count
    table = settings.table.with(state.lists.outputs)
    told = table.rows.map { [reading] in $0.read?(reading) ?? [] }
    encoded = Array(repeating: nil, count: table.rows.count)
    for target in settings.targets {
      subscribers.append(
        Subscriber(
          target: target, source: target, groups: settings.targetGroups, dialect: .own,
          lease: .longest, heard: clocks.host, nextFlush: clocks.host))
    }
    for index in subscribers.indices { dump(to: index) }
  }

  var now: Micros { clocks.host }

  mutating func nextOutput() -> Output? {
    if drained == outputs.count {
      outputs.removeAll(keepingCapacity: true)
      drained = 0
      for (packets, target) in replies {
        for datagram in Bundle.pack(packets) { sendPacket(datagram, to: target) }
      }
      replies.removeAll(keepingCapacity: true)
    }
    guard drained < outputs.count else { return nil }
    drained += 1
    return outputs[drained - 1]
  }

  mutating func put(_ output: Output) { outputs.append(output) }

  /// Reports to the user at the terminal, as often as the limit for this kind of notice allows.
  mutating func note(_ notice: Notice) {
    if let pace = notice.pace {
      let (atOnce, perMinute) = pace.bucket
      var bucket = news[pace] ?? TokenBucket(perSecond: perMinute / 60, capacity: atOnce, at: now)
      let isSaid = bucket.trySpend(at: now)
      news[pace] = bucket
      guard isSaid else { return }
    }
    put(.notice(notice))
  }

  mutating func reply(_ packet: [UInt8], to target: Peer) {
    if let last = replies.indices.last, replies[last].target == target {
      replies[last].packets.append(packet)
    } else {
      replies.append(([packet], target))
    }
  }

  /// Handles one datagram and returns the cost.
  @discardableResult
  mutating func receive(_ bytes: UnsafeRawBufferPointer, from peer: Peer, clocks: Clocks) -> Int {
    self.clocks = clocks
    counters.datagrams += 1
    guard obeys(peer) else {
      refuseStranger(peer)
      return 0
    }
    allowance = Allowance()
    let parts: [PacketCheck.Part]
    do {
      parts = try PacketCheck.parts(of: bytes)
    } catch {
      malformed(error, from: peer)
      return bytes.count / Cost.bytes
    }
    rates.receive(peer.endpoint.address, bytes: bytes.count, at: now)
    let messages = decode(parts, of: bytes, from: peer)
    guard peer.isBrowser || !isTelling(peer, messages.map(\.message)) else { return allowance.spent }
    heard(from: peer)
    for (message, timetag) in messages {
      guard allowance.left >= Cost.refusal else {
        refuseRest(from: peer)
        break
      }
      obey(message, timetag, from: peer)
    }
    let cost = allowance.spent
    advance()
    return cost
  }

  /// Decodes as many messages as the datagram's allowance can pay for.
  private mutating func decode(
    _ parts: [PacketCheck.Part], of bytes: UnsafeRawBufferPointer, from peer: Peer
  ) -> [(message: Message, timetag: Timetag)] {
    _ = allowance.trySpend(bytes.count / Cost.bytes)
    var messages: [(message: Message, timetag: Timetag)] = []
    for part in parts {
      guard allowance.trySpend(Cost.message) else {
        refuseRest(from: peer)
        break
      }
      if let message = LibloCodec.decode(UnsafeRawBufferPointer(rebasing: bytes[part.range])) {
        messages.append((message, part.timetag))
      } else {
        malformed(.typeTags, from: peer)
      }
    }
    return messages
  }

  private mutating func refuseRest(from peer: Peer) {
    refuse(.tooMuch, "/\(Table.root)", to: peer)
  }

  private mutating func obey(_ message: Message, _ timetag: Timetag, from peer: Peer) {
    counters.messages += 1
    let wait = timetag.isImmediate ? 0 : timetag.seconds(since: clocks.wall)
    if wait > 0 {
      schedule(message, timetag, wait: wait, from: peer)
    } else {
      // Late messages are obeyed at once. A tap counts from the time at which it was made, so that Wi-Fi's
      // jitter has no effect.
      let made = wait < 0 && wait > -1 ? clocks.host(of: timetag) : now
      obey(message, from: peer, at: made)
    }
  }

  private mutating func malformed(_ reason: MalformedPacket, from peer: Peer) {
    counters.malformed += 1
    if rates.mayReplyWithError(peer.endpoint, at: now) {
      note(.malformed(reason.rawValue, from: peer.endpoint))
    }
  }

  private mutating func schedule(_ message: Message, _ timetag: Timetag, wait: Double, from peer: Peer) {
    guard wait <= SurfaceLimits.horizonSeconds else {
      refuse(
        .refused("\(brief(wait)) s ahead; at most \(brief(SurfaceLimits.horizonSeconds))"), message.address,
        to: peer
      )
      return
    }
    let cost = Cost.later(message)
    do throws(Refusal) {
      try allowance.spend(cost)
      try postpone(
        ScheduledMessages.Entry(due: .wall(timetag), task: .message(message), peer: peer, cost: cost))
    } catch {
      refuse(error, message.address, to: peer)
    }
  }

  mutating func postpone(_ entry: ScheduledMessages.Entry) throws(Refusal) {
    let isThere = agenda.add(
      entry, trust: trust(in: entry.peer), clocks: clocks, state: reading.state)
    guard !isThere else { return }
    throw Refusal(.notNow, "too many messages wait already")
  }

  /// Takes the program's whole state and sends the values that have changed.
  mutating func update(_ state: SurfaceState, clocks: Clocks) {
    self.clocks = clocks
    reading.own.expectedOutputs = [:]
    guard state != reading.state else { return sayWaiting() }
    let before = reading.state
    reading.state = state
    foresight.isOld = true
    if state.lists.songs != before.lists.songs {
      reading.own.keepPlace(in: state.lists.songs, before: before.lists.songs)
      if !state.lists.songs.contains(where: { $0.title == reading.own.songWaiting }) {
        agenda.dropSongs()
        stopWaiting(at: now)
      }
    }
    sayWaiting()
    if Table.shape(of: state.lists.outputs) != Table.shape(of: before.lists.outputs) { reshape() }
    if state.tempo != before.tempo, let expected = reading.own.expectedTempo,
      abs(expected - state.tempo.beatsPerMinute) < 0.001
    {
      reading.own.expectedTempo = nil
    }
    if state.tempo != before.tempo { outward.tempoChanged(at: now) }
    if state.isRolling != before.isRolling { sayOutward(state.isRolling ? .start : .stop) }
    readClocks()
    tellChanges()
    feeds.stateChanged(from: before, to: state, at: now)
    advance()
  }

  /// Sets the addresses at which controllers reach us, and the networks to which this machine is attached.
  mutating func reach(_ reach: OSCReach, near: Neighbourhood?, clocks: Clocks) {
    self.clocks = clocks
    neighbourhood = near ?? neighbourhood
    reading.own.reach = reach
    tellChanges()
  }

  var tempoRow: Int { table.place(of: "tempo") ?? 0 }
}

/// The sender of a request, and the row that the request is for.
struct Asker: Hashable, Sendable {
  var peer: Peer
  var row: Int
}
