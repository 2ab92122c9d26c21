// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
public import LinkWire

/// Ableton Link as a machine: who is in the session, whose time and tempo we follow, what we tell the others.
///
/// It has no socket, no clock, no thread and no randomness of its own: datagrams, the host time and a seed come in as
/// arguments, datagrams and a deadline come out as values. The same inputs give the same outputs, so a thousand of
/// these run in one simulation and every failure can be played again.
///
/// **After every `handle` or `receive`, call `nextOutput` until it says `.sleep`.** Only then is the machine at
/// rest, and only then is what it says complete.
///
/// The way in: `receive` and `handle` are all that happens to it; `Peers` is who is out there, `Sessions` whom we
/// join, `Measurement` how a clock is measured (`Relay` and `FarClock`: one in another room), `Timing` what a timeline or a
/// start does to us, `Gateways` when we speak, `Limits` what nobody can make it do. The rules are those of the protocol's fact sheet, sections 3, 4, 7, 8.
public struct LinkSession: Sendable {
  /// What happens to a session, other than that a datagram comes.
  public enum Input: Sendable {
    /// The time that `.sleep` named has come. Early or late does no harm.
    case deadline
    /// Only while enabled. After a `gatewayClosed` the same address gets a new id.
    case gatewayOpened(Gateway)
    /// Says goodbye there: its sockets have to stay open until the outputs are taken and sent.
    case gatewayClosed(GatewayID)
    /// What is known of the way to another room, and how much later its grid is to be, while it is open. The correction is slewed, never
    /// stepped. A distance moves the beats of one of the two rooms forward, at once.
    case farWire(correction: Micros, distance: Beats, on: GatewayID)
    /// Our audio socket beside this gateway's is open and reached there; nil: closed. Closing the gateway closes it, too.
    case audioSocket(Endpoint?, on: GatewayID)
    /// On: found a session, then gateways may be opened. Off: says goodbye and forgets all gateways.
    case enable(Bool)
    /// Whether starts and stops are shared. Nobody is told and nothing adopted before the next one.
    case enableStartStopSync(Bool)
    /// What somebody changed in a captured state. What was meant for a session that we have left since is dropped.
    case commit(SessionChange)
    /// The host clock may have lost touch with the session's, as after a suspend: measure it now.
    case clockDisturbed
  }

  /// What the caller has to do, in the order in which it comes.
  public enum Output: Sendable {
    /// To be sent now, from that gateway's socket: pongs carry the time at which they were made.
    case send(Packet, to: Destination, on: GatewayID, via: Channel)
    /// What audio and app threads are to see from now on.
    case publish(SessionSnapshot)
    /// To be told to the user. The state that was published before it has the change.
    case event(Event)
    /// Of a gateway with an audio socket: first of all who is there, then of each change. After a gateway closed or all was switched
    /// off, nobody is there any more, without a word of each.
    case audioPeer(AudioSighting)
    /// At rest until then; nil if only an input can change anything.
    case sleep(until: Micros?)
  }

  /// Whom a datagram is for.
  public enum Destination: Hashable, Sendable {
    /// Everybody on the gateway's network: `Endpoint.discoveryGroup(for:)` of its address.
    case group
    /// One peer. A link-local address may come without a scope: it is then the gateway's.
    case endpoint(Endpoint)
  }

  /// A change that its user should see.
  public enum Event: Hashable, Sendable {
    /// The session's tempo, in beats per minute.
    case tempo(Double)
    /// Whether this peer plays. It is told when the change comes in, which may be before the start is heard.
    case startStop(Bool)
    /// How many others are in our session.
    case peers(Int)
  }

  var node: NodeID
  var session: SessionID
  var timeline: Timeline
  var ghost: GhostMap
  var startStop = SessionStartStop.unset
  var client: Timeline
  var clientStartStop: ClientStartStop
  /// Whether it takes part: only then it hears, speaks and has gateways.
  public internal(set) var isEnabled = false
  /// Whether starts and stops are shared with the peers.
  public internal(set) var isStartStopSyncEnabled = false

  var gateways: [OpenGateway] = []
  var peers = Peers()
  var measurements: [Measurement] = []
  /// Whose clock is our session's, as far as we are concerned.
  var clock: ClockOrigin
  /// Whom we ask for it; nobody if it is ours.
  var guide: Source?
  /// Who told us the time last.
  var source: Source? { didSet { hasSourceFailed = false } }
  /// It did not answer when it was asked last, though it spoke.
  var hasSourceFailed = false
  /// Who brought us into our session, while it is there.
  var usher: NodeID?
  var nextRemeasurement: Micros?
  /// Between rooms, and named so: lower than everybody else in its own.
  let isRelay: Bool
  /// Sessions whose time another relay will tell us with its next answer.
  var awaited: [SessionID] = []
  /// When our clock was last moved towards a relay's, in uptime, and how many microseconds since our followers were told.
  var steered = Micros.zero
  var slewed: Int64 = 0
  /// It may have lost touch with the session's, even if we are the session's reference.
  var isClockDoubted = false
  var heldChange: HeldChange?
  /// The uptime until which changes by our user wait for the measurement after a sleep.
  var changesWaitUntil = Micros.zero
  var formerNodes: [NodeID] = []
  /// Sessions that our own one carries on: a commit meant for one of them is meant for it.
  var formerSessions: [SessionID] = []

  var dice: Dice
  var uptime: Uptime
  /// Host time of the input being worked on.
  var now: Micros
  /// Since it was made; switching it off and on does not set them back.
  public internal(set) var counters = Counters()
  /// The first addresses of the others in our session, and how many are at each.
  package func peerPlaces(atMost most: Int) -> [(address: Address, count: Int)] {
    peers.places(of: session, atMost: most)
  }

  /// Of what a packet of ours says, so that it is encoded once.
  var revision: UInt64 = 0
  var isBroadcastDue = false
  var isPublishDue = true
  private var reported: (tempo: Double, isPlaying: Bool, peers: Int)
  private var outputs: [Output] = []
  private var outputHead = 0

  /// Disabled, alone, stopped; the beat runs from `now` on. The same seed gives the same ids. Only a relay may open far gateways.
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

  /// Something happens at the host time `now`, in microseconds. Take the outputs after it.
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
    case .commit(let change): commit(change)
    case .clockDisturbed:
      changesWaitUntil = uptime.now + Limits.longestDoubt
      doubtClock()
    }
    settle()
  }

  /// A datagram has come to the gateway's socket for `channel`. `waited`: for how long it had lain unread. Take the outputs after it.
  public mutating func receive(
    _ bytes: UnsafeRawBufferPointer, from source: Endpoint, on gateway: GatewayID, via channel: Channel,
    waited: Micros = .zero, at now: Micros
  ) {
    advance(to: now)
    counters.received += 1
    guard isEnabled, let place = index(of: gateway), Belief.isUnicast(source.address), source.port != 0 else {
      counters.closedGateway += 1
      return
    }
    // Wherever the other relay has moved to.
    let source = gateways[place].gateway.far?.relay ?? source
    switch channel {
    case .discovery: receiveDiscovery(bytes, from: source, on: place, arrived: uptime.now - waited)
    case .measurement: receiveMeasurement(bytes, from: source, on: place, waited: waited)
    }
    settle()
  }

  /// Publishes first: a listener that is told of an event finds it in the published state.
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

  /// The state as the next `publish` would tell it.
  public var snapshot: SessionSnapshot {
    SessionSnapshot(
      state: SessionState(
        timeline: client, startStop: clientStartStop, isConnected: reported.peers > 0,
        session: session.rawValue),
      node: node, session: session, sessionTimeline: timeline, ghost: ghost, peerCount: reported.peers,
      isEnabled: isEnabled, isStartStopSyncEnabled: isStartStopSyncEnabled)
  }

  /// How full the tables are; `Limits` says how full they can get.
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

  /// Only a switch: nothing is sent and nothing adopted until the next change (facts: link 8.3).
  private mutating func enableStartStopSync(_ isOn: Bool) {
    isStartStopSyncEnabled = isOn
    isPublishDue = true
  }

  /// What every input ends with: the peers are counted, a session that everybody left is founded again, the state is
  /// sent, and changes are reported.
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

  /// Whether it is another number than before.
  @discardableResult
  mutating func tellPeers(_ count: Int) -> Bool {
    guard count != reported.peers else { return false }
    reported.peers = count
    isPublishDue = true
    emit(.event(.peers(count)))
    return true
  }
}
