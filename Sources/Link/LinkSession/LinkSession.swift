// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath
public import LinkWire

// Start reading here: `receive` and `handle` are the only inputs. `Peers` remembers the peers, `Sessions`
// decides which session we join, `Measurement` measures a clock (`Relay` and `FarClock`: a clock in another
// room), `Timing` applies timelines, starts and stops, `Gateways` decides when we send, `Limits` bounds
// everything. The rules are the protocol's (facts: link 3, 4, 7, 8). In names, "reference" means Ableton's
// library.

/// The Ableton Link protocol as a machine: it knows the peers and keeps a session's clock and tempo.
///
/// This machine has no socket, no clock, no thread and no randomness of its own. Datagrams, the host time and
/// a seed come in as arguments; datagrams and a deadline come out as values. The same inputs give the same
/// outputs, so a thousand machines run in one simulation and every failure can be replayed.
///
/// **After every `handle` or `receive`, call `nextOutput` until it returns `.sleep`.** Only then is the
/// machine at rest and its state complete. ``receive(_:from:on:via:waited:at:)`` and ``handle(_:at:)`` are
/// the only inputs. This type has more than 20 properties because the files of this module share its state.
public struct LinkSession: Sendable {
  /// An input other than a datagram.
  public enum Input: Sendable {
    /// The time that the last `.sleep` gave has come. An early or late call does no harm.
    case deadline
    /// A new gateway, only while Link is enabled. If its address had a gateway before, it needs a new id.
    case gatewayOpened(Gateway)
    /// A gateway closes, with a goodbye: keep its sockets open until you have taken and sent the outputs.
    case gatewayClosed(GatewayID)
    /// New values for an open far gateway. The correction moves slowly and never jumps; a distance moves one
    /// room's beats forward at once.
    case farWire(correction: Micros, distance: Beats, on: GatewayID)
    /// The endpoint of our audio socket on this gateway; nil: the socket is closed.
    case audioSocket(Endpoint?, on: GatewayID)
    /// True founds a session; then gateways may be opened. False says goodbye and forgets all gateways.
    case enable(Bool)
    /// Whether starts and stops are shared. The switch alone sends and adopts nothing.
    case enableStartStopSync(Bool)
    /// Whether the song line is shared. While it is off, no song line is sent, and those of others are
    /// ignored.
    case enableSongSync(Bool)
    /// A user's change to a captured state. A timeline of a session that we have left is dropped.
    case commit(SessionChange)
    /// The host clock may have lost the session's time, as after a suspend: measure that time now.
    case clockDisturbed
  }

  /// An action for the caller. The order of the outputs counts.
  public enum Output: Sendable {
    /// Send this datagram now, from that gateway's socket: a pong contains the time at which it was made.
    case send(Packet, to: Destination, on: GatewayID, via: Channel)
    /// The state that audio and app threads read from now on.
    case publish(SessionSnapshot)
    /// A change to show to the user. The published state already has it.
    case event(Event)
    /// A peer's part in Link Audio, for gateways with an audio socket: at first for every known peer, then
    /// for each change. The peers of a closed gateway are gone without further outputs.
    case audioPeer(AudioSighting)
    /// The machine rests until this host time; nil: until the next input.
    case sleep(until: Micros?)
  }

  /// The recipient of a datagram.
  public enum Destination: Hashable, Sendable {
    /// All peers on the gateway's network: `Endpoint.discoveryGroup(for:)` of its address.
    case group
    /// One peer. A link-local address may lack its scope; then use the gateway's scope.
    case endpoint(Endpoint)
  }

  /// A change to show to the user.
  public enum Event: Hashable, Sendable {
    /// The session's tempo, in beats per minute.
    case tempo(Double)
    /// Whether this peer plays. The event may come before the start is heard.
    case startStop(Bool)
    /// The number of other peers in our session.
    case peers(Int)
  }

  var node: NodeID
  var session: SessionID
  var timeline: Timeline
  var ghost: GhostMap
  var startStop = SessionStartStop.unset
  var client: Timeline
  var clientStartStop: ClientStartStop
  /// Whether Link is on. Only while it is on, the machine receives, sends and has gateways.
  public internal(set) var isEnabled = false
  /// Whether starts and stops are shared with the peers.
  public internal(set) var isStartStopSyncEnabled = false
  var isSongSyncEnabled = false
  /// The newest decision about the song; nil if there is none, and while song sync is off.
  var song: SessionSong?
  var songDecision: UInt64 = 0

  var gateways: [OpenGateway] = []
  var peers = Peers()
  var measurements: [Measurement] = []
  /// The origin of the clock that gives us our session's time.
  var clock: ClockOrigin
  /// The peer that we ask for the session's time; nil if we use our own clock.
  var guide: Source?
  /// The peer that gave us the session's time last.
  var source: Source? { didSet { hasSourceFailed = false } }
  /// Whether `source` did not answer our last measurement, although `source` still sends Alives.
  var hasSourceFailed = false
  /// The peer that gave us our session's time when we joined it, while it is there.
  var usher: NodeID?
  var nextRemeasurement: Micros?
  /// Whether this peer connects rooms. Its id is then the lowest in its room.
  let isRelay: Bool
  /// Sessions whose time we learn from another relay's next answer.
  var awaited: [SessionID] = []
  /// The uptime of our session clock's last move towards a relay's clock, and the microseconds that the
  /// session clock has moved since we last announced a jump.
  var steered = Micros.zero
  var slewed: Int64 = 0
  /// Whether our clock may have lost the session's time, even if all members take the time from us.
  var isClockDoubted = false
  var heldChange: HeldChange?
  /// The uptime until which changes by our user wait for the measurement after a sleep.
  var changesWaitUntil = Micros.zero
  var formerNodes: [NodeID] = []
  /// Sessions that our session continues: a commit that was made for one of them is still accepted.
  var formerSessions: [SessionID] = []

  var dice: Dice
  var uptime: Uptime
  /// Host time of the current input.
  var now: Micros
  /// Counters since the machine was made; switching it off and on does not reset them.
  public internal(set) var counters = Counters()
  /// The lowest addresses of the other peers in our session, and the number of peers at each.
  package func peerPlaces(atMost most: Int) -> [(address: Address, count: Int)] {
    peers.places(of: session, atMost: most)
  }

  /// The number of the state that our packets announce. Packets are encoded again only if this number
  /// changes.
  var revision: UInt64 = 0
  var isBroadcastDue = false
  var isPublishDue = true
  private(set) var reported: (tempo: Double, isPlaying: Bool, peers: Int)
  private var outputs: [Output] = []
  private var outputHead = 0

  /// Makes a machine that is disabled, alone and stopped; its beat runs from `now` on. Only a relay may open
  /// far gateways.
  public init(tempo: Tempo, seed: UInt64, isRelay: Bool = false, at now: Micros) {
    dice = Dice(seed: seed)
    self.isRelay = isRelay
    node = isRelay ? NodeID(ofRelayUsing: &dice) : NodeID(using: &dice)
    session = node
    clock = ClockOrigin(root: node, steps: 0)
    let tempo = tempo.clamped
    timeline = Timeline(tempo: tempo, beatOrigin: .zero, timeOrigin: .zero)
    ghost = GhostMap(startingAt: now)
    client = Timeline(tempo: tempo, beatOrigin: .zero, timeOrigin: now)
    clientStartStop = ClientStartStop(isPlaying: false, time: now, timestamp: now)
    uptime = Uptime(host: now)
    self.now = now
    reported = (tempo.beatsPerMinute, false, 0)
  }

  /// Handles an input at the host time `now`, in microseconds. Take the outputs afterwards.
  public mutating func handle(_ input: Input, at now: Micros) {
    advance(to: now)
    switch input {
    case .deadline: meetDeadlines()
    case .gatewayOpened(let gateway): open(gateway)
    case .gatewayClosed(let id): close(id)
    case .farWire(let correction, let distance, let id): setFarWire(correction, distance, on: id)
    case .audioSocket(let endpoint, let id): setAudioSocket(endpoint, on: id)
    case .enable(let isOn): enable(isOn)
    case .enableStartStopSync(let isOn): enableStartStopSync(isOn)
    case .enableSongSync(let isOn): enableSongSync(isOn)
    case .commit(let change): commit(change)
    case .clockDisturbed:
      changesWaitUntil = uptime.now + Limits.longestDoubt
      doubtClock()
    }
    settle()
  }

  /// Handles a datagram from the gateway's socket for `channel`, in which it lay unread for `waited`.
  public mutating func receive(
    _ bytes: UnsafeRawBufferPointer, from source: Endpoint, on gateway: GatewayID, via channel: Channel,
    waited: Micros = .zero, at now: Micros
  ) {
    advance(to: now)
    counters.received += 1
    guard isEnabled, let place = index(of: gateway), PacketJudge.isUnicast(source.address), source.port != 0
    else {
      counters.closedGateway += 1
      return
    }
    // The connection to another room has one peer, known by one endpoint wherever its datagrams really come
    // from.
    let source = gateways[place].gateway.far?.relay ?? source
    switch channel {
    case .discovery: receiveDiscovery(bytes, from: source, on: place, arrived: uptime.now - waited)
    case .measurement: receiveMeasurement(bytes, from: source, on: place, waited: waited)
    }
    settle()
  }

  /// The next output. `publish` precedes events, so that a listener finds an event's change in the state.
  public mutating func nextOutput() -> Output {
    if isPublishDue {
      isPublishDue = false
      return .publish(snapshot)
    }
    if outputHead < outputs.count {
      outputHead += 1
      return outputs[outputHead - 1]
    }
    outputs.removeAll(keepingCapacity: true)
    outputHead = 0
    return .sleep(until: nextDeadline.map { uptime.host(of: $0) })
  }

  /// Present sizes of the tables; `Limits` has their maxima.
  package var load: Load {
    Load(
      gateways: gateways.count, sightings: peers.count, sessions: peers.sessions.compared,
      measurements: measurements.count)
  }

  mutating func emit(_ output: Output) {
    guard outputs.count - outputHead < Limits.outputs else {
      counters.outputsDropped += 1
      return
    }
    outputs.append(output)
  }

  private mutating func advance(to now: Micros) {
    self.now = now
    if uptime.advance(toHost: now, deadline: nextDeadline) {
      counters.clockSteps += 1
      for place in gateways.indices { gateways[place].farClock?.forget() }
      doubtClock()
    }
    leaveAbsurdSession()
  }

  private mutating func enable(_ isOn: Bool) {
    guard isOn != isEnabled else { return }
    isPublishDue = true
    if isOn {
      isEnabled = true
      startOwnSession()
      return
    }
    for place in gateways.indices { sayGoodbye(on: place) }
    gateways.removeAll()
    peers.clear()
    measurements.removeAll()
    awaited.removeAll()
    nextRemeasurement = nil
    isEnabled = false
  }

  /// Changes only the switch: we send and adopt nothing until the next start or stop (facts: link 8.3).
  private mutating func enableStartStopSync(_ isOn: Bool) {
    isStartStopSyncEnabled = isOn
    isPublishDue = true
  }

  /// The last step of each input: counts peers, founds a session if all left, reports and sends changes.
  private mutating func settle() {
    releaseHeldChange()
    startWaitingMeasurements()
    tellAudioPeers()
    let count = peers.members(of: session)
    if tellPeers(count) && count == 0 { startOwnSession() }
    if timeline.tempo.beatsPerMinute != reported.tempo {
      reported.tempo = timeline.tempo.beatsPerMinute
      emit(.event(.tempo(reported.tempo)))
    }
    if clientStartStop.isPlaying != reported.isPlaying {
      reported.isPlaying = clientStartStop.isPlaying
      emit(.event(.startStop(reported.isPlaying)))
    }
    if isBroadcastDue {
      isBroadcastDue = false
      broadcast()
    }
  }

  /// Reports the number of other peers. Returns whether it has changed.
  @discardableResult
  mutating func tellPeers(_ count: Int) -> Bool {
    guard count != reported.peers else { return false }
    reported.peers = count
    isPublishDue = true
    emit(.event(.peers(count)))
    return true
  }
}
