// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusStudioDay
import Testing
import TimecodeReader

@testable import TactusSync

/// A JACK server, a transport, a session and one `HostSync`, played cycle by cycle. A studio keeps all its
/// output.
final class Studio {
  /// An event at a port, with the time at which it is heard.
  struct Onset {
    var frame: Int
    var heard: Double
    var value: Float
  }

  struct Message {
    var frame: Int
    var heard: Double
    var event: MIDIEvent
  }

  let sampleRate: UInt32
  var clock: Jack2Clock
  /// The random delays of the driver; nil: the driver is always on time.
  var dice: Dice?
  /// The largest error of JACK's times, in microseconds.
  var jitter = 0.0
  private var jitterDice = Dice(seed: 11)
  var timeline: Timeline
  var settings = Settings() { didSet { settingsNumber &+= 1 } }
  private var settingsNumber: UInt32 = 0
  var latencies = PerPort<UInt32>(repeating: 0)
  var transport = Transport(state: .stopped, frame: 0)
  /// The transport as it was in the last cycle.
  private(set) var present = Transport(state: .stopped, frame: 0)
  /// The start from which the transport rolls: the time at which its first frame is heard, that frame, the
  /// session's beat at that time, and the choice of `Launch`. nil: the transport does not roll.
  private(set) var rolling: (heard: Double, frame: UInt32, beat: Double, start: Start?)?
  /// Whether the server freewheels, about twenty times as fast as the clock.
  var isFreewheeling = false
  /// The position that another client sends to the timebase master in the next cycle.
  var requests: BBT?
  var listensToPulse = false
  /// Whether HostSync is asked if the transport may roll, as JACK asks its slow-sync clients. If so, the
  /// transport rolls in the cycle after all clients have said yes.
  var asksBeforeRolling = false
  private var mayRoll = false
  /// For this number of cycles the transport shows the next start before JACK asks its clients. On PipeWire,
  /// a client that is late may see this.
  var unaskedCycles = 0
  /// Whether the transport behaves as PipeWire's (facts: jack 3). After a stop it shows the frame of the last
  /// cycle that was played, and a start rolls from the next cycle's frame. After a locate, a start rolls from
  /// the frame at which the transport stands.
  var rollsAsPipeWire = false
  /// Whether a start after a locate also rolls from the next cycle's frame. No known server does that.
  var skipsBehindLocate = false
  private var isLocated = false, wasRolling = false
  /// The longest time for which a client can hold a start, in microseconds. After it JACK lets the start
  /// roll.
  var longestHold = Double.infinity
  private var startingSince = 0.0
  /// Whether the transport claims to roll while its frame does not move, as PipeWire's may.
  var isStuck = false
  /// The time that another client needs after each locate and start, in microseconds.
  var othersTake = 0.0
  private var othersReady = 0.0
  /// The frame to which another client, or the control thread, sends the transport in the next cycle.
  var locate: UInt32?
  /// The bar and beat in the request of `locate`. JACK shows them to all clients until the timebase master
  /// has written its own.
  var locateShows: BBT?
  /// The control thread's plan. The control thread looks once a cycle.
  var plan = TransportPlan()
  var server = TransportServer()
  /// Whether the control thread starts and stops the transport when the session does.
  var followsSession = false
  /// Whether the control thread is late: it does not run.
  var controlIsLate = false
  /// The number of cycles between two looks of the control thread.
  var controlCycles = 1
  private var cycles = 0
  /// The counters of the servers before this one.
  private var counts = Report().counts
  var relocation: Relocation?
  private(set) var relocations = 0
  /// The number of requests to hold a start on.
  private(set) var holdRequests = 0
  /// Whether each cycle's end lacks its fraction of a microsecond, as on PipeWire 1.4 (facts: jack 2).
  var cutsCycleEnds = false
  /// The number of cycles by which JACK gets the request for the first relocation late.
  var relocatesLate = 0
  private var late: (cycles: Int, frame: UInt32)?
  private var stops = false, starts = false
  /// The time at which the session began to play, as the session shows it.
  var timeOfPlaying = Micros.zero
  private var actionNumber: UInt32 = 0
  /// The places to which held starts sent the transport.
  private(set) var placed: [SongPlace] = []
  /// Whether we are timebase master. Our bar and beat are shown from the second cycle on.
  var isMaster = false
  private var shown: BBT?

  private(set) var frame = 0
  private(set) var clicks: [Onset] = []
  private(set) var messages: [Message] = []
  /// Each pulse with its rising edge, and its length in frames.
  private(set) var pulses: [(onset: Onset, width: Int)] = []
  private(set) var runEdges: [Onset] = []
  /// The number of the server's clients.
  var clients: Int32 = 3
  /// How often the port `clock` went from no connection to one.
  var clockConnections: UInt32 = 0
  /// The user's own outputs. `rackMessages` has the messages of each, and `rackEdges` the places where its
  /// level changed.
  var rack: [OutputSlot] = [] {
    didSet {
      ownDelay = rack.map { $0.startDelay(frameMicros: microsPerFrame) }.max() ?? .zero
      if keepsRevisions { return }
      racks &+= 1
      for place in rack.indices { rack[place].revision = racks }
    }
  }
  private var ownDelay = Micros.zero
  private var racks: UInt32 = 0
  var keepsRevisions = false
  private(set) var rackMessages: [[Message]] = []
  private(set) var rackEdges: [[Onset]] = []
  private var rackLevels: [Float] = []
  private var rackEvents = MIDIEvents()
  /// A function that is called with the samples of the rack's first output in each cycle.
  var listensToRack: ((UnsafeMutableBufferPointer<Float>) -> Void)?
  private(set) var report = Report()
  /// The proposals that the network thread took in the last cycle.
  private(set) var proposals: [Proposal] = []
  /// All proposals that were taken.
  private(set) var told: [Proposal] = []
  /// Whether the network thread takes no proposals.
  var refusesProposals = false
  /// The time from a cycle's beginning until the session takes the tempo or beat that the cycle proposed, in
  /// microseconds; nil: the session takes neither.
  var commitsAfter: Double?
  /// The proposals of tempos and beats, with the times of their cycles. The session took the first `taken`.
  private(set) var commits: [(time: Double, proposal: Proposal)] = []
  private var taken = 0
  /// Whether the session plays, and whether it has other peers.
  var isPlaying = false
  var isConnected = false
  /// Whether the session takes our starts and stops at once. If not, the test sets `startStopsTaken`.
  var takesStartStops = true
  var startStopsTaken: UInt32 = 0
  /// The true time of the present cycle's frame 0, without a port's latency.
  private(set) var due = 0.0

  var sync = HostSync()
  /// The outputs are kept from cycle to cycle, as on the audio thread.
  private var outputs = Outputs()
  private let buffers: UnsafeMutablePointer<Float>
  private let samples: UnsafeMutablePointer<Float>
  private var lastPulse: Float = 0
  private var lastRun: Float = 0
  static let longest = 8192

  init(sampleRate: UInt32 = 48000, tempo: Double = 120, seed: UInt64? = nil, start: Double = 1e9) {
    self.sampleRate = sampleRate
    clock = Jack2Clock(sampleRate: Double(sampleRate), start: start)
    dice = seed.map { Dice(seed: $0) }
    timeline = Timeline(tempo: Tempo(tempo), beatOrigin: .zero, timeOrigin: Micros(Int64(start)))
    buffers = .allocate(capacity: 3 * Self.longest)
    buffers.initialize(repeating: 0, count: 3 * Self.longest)
    samples = .allocate(capacity: 3)
    samples.initialize(repeating: 0, count: 3)
    (samples[0], samples[1], samples[2]) = (1, 0.5, 0.25)
    settings.click.gain = 1
    settings.click.isOn = true
  }

  deinit {
    buffers.deallocate()
    samples.deallocate()
  }

  /// Sounds of one sample: accents are 1, beats 0.5, subdivisions 0.25.
  lazy var bank = SoundBank(
    number: 1, accent: Sound(UnsafeBufferPointer(start: samples, count: 1)),
    beat: Sound(UnsafeBufferPointer(start: samples + 1, count: 1)),
    subdivision: Sound(UnsafeBufferPointer(start: samples + 2, count: 1)))

  var microsPerFrame: Double { 1e6 / Double(sampleRate) }
  /// Changes the session's tempo from `time` on; nil: from the present cycle's time (`due`) on.
  func setTempo(_ tempo: Double, at time: Double? = nil) {
    session.setTempo(tempo, at: Micros(rounding: time ?? due))
  }

  var session: SessionState {
    get {
      SessionState(
        timeline: timeline,
        startStop: ClientStartStop(isPlaying: isPlaying, time: timeOfPlaying, timestamp: .zero),
        isConnected: isConnected)
    }
    set {
      (timeline, isPlaying, timeOfPlaying) = (newValue.timeline, newValue.isPlaying, newValue.timeOfPlaying)
    }
  }

  /// Receives a message from `control` for the next cycle.
  func receive(_ event: MIDIEvent) { sync.receive(event) }

  func beat(at heard: Double) -> Double { Grid(timeline).beat(at: heard) }

  /// Whether the studio pretends that the settings change in each cycle, so that no output sleeps.
  var isRestless = false

  /// Plays a cycle. `isMissed`: the server runs, but we are too late and miss JACK's calls.
  func play(_ frames: UInt32, stall: Double = 0, isMissed: Bool = false) {
    if isRestless { settingsNumber &+= 1 }
    let lateness = dice?.lateness() ?? 0
    let isIdeal = dice == nil && stall == 0 && !isFreewheeling
    var times =
      isIdeal
      ? clock.idealCycle(frames: frames)
      : clock.cycle(frames: frames, lateness: lateness, stall: stall, speed: isFreewheeling ? 20 : 1)
    due = clock.due
    if jitter > 0 {
      let error = UInt64(bitPattern: Int64(Double.random(in: -jitter...jitter, using: &jitterDice).rounded()))
      times.currentMicros &+= error
      times.nextMicros &+= error
    }
    while let commitsAfter, taken < commits.count, commits[taken].time + commitsAfter <= due {
      session.apply(commits[taken].proposal)
      taken += 1
    }
    if cutsCycleEnds {
      times.nextMicros = times.currentMicros + UInt64(Double(frames) * microsPerFrame)
    }
    if starts {
      if case .stopped = transport.state { beginStarting() }
      starts = false
    }
    if stops {
      transport.state = .stopped
      stops = false
    }
    if rollsAsPipeWire, wasRolling, transport.state == .stopped {
      transport.frame &-= frames
      isLocated = false
    }
    wasRolling = transport.state == .rolling
    var isAsked = false
    if let there = locate {
      transport.frame = there
      isLocated = true
      isAsked = transport.state == .stopped
      if transport.state != .stopped { beginStarting() }
      locate = nil
    }
    if isMaster { transport.bbt = locateShows ?? shown }
    locateShows = nil
    present = transport
    noteStart()
    var cycle = Cycle(
      frames: frames, sampleRate: sampleRate, times: times, transport: transport, latencies: latencies,
      clock: .identity,
      session: SessionView(session, startStopsTaken: startStopsTaken), settings: settings,
      settingsNumber: settingsNumber, sounds: bank,
      isFreewheeling: isFreewheeling,
      relocation: relocation, clockConnections: clockConnections,
      ownDelay: ownDelay, clients: clients)
    proposals = []
    if !isMissed { run(&cycle, isAsked: isAsked) }
    requests = nil
    control()
    frame += Int(frames)
    if case .rolling = transport.state, !isStuck { transport.frame &+= frames }
    if transport.state != .starting { startingSince = due + Double(frames) * microsPerFrame }
    let isOver = due - startingSince > longestHold
    if asksBeforeRolling, isOver || mayRoll && due >= othersReady, case .starting = transport.state {
      (transport.state, mayRoll) = (.rolling, false)
      if rollsAsPipeWire, !isLocated || skipsBehindLocate { transport.frame &+= frames }
    }
  }

  private func noteStart() {
    guard case .rolling = present.state else {
      rolling = nil
      return
    }
    guard rolling == nil else { return }
    let heard = due + Double(latencies[.jack]) * microsPerFrame
    rolling = (heard, present.frame, beat(at: heard), sync.launch.start)
  }

  /// Runs our client in this cycle. `isAsked`: a locate of the standing transport makes JACK ask us.
  private func run(_ cycle: inout Cycle, isAsked: Bool) {
    let frames = cycle.frames
    if unaskedCycles > 0, case .starting = transport.state {
      unaskedCycles -= 1
    } else if asksBeforeRolling, !mayRoll, case .starting = transport.state {
      mayRoll = sync.mayRoll(&cycle)
    } else if asksBeforeRolling, isAsked {
      _ = sync.mayRoll(&cycle)
    }
    let pulse = listensToPulse ? buffers + Self.longest : nil
    let run = listensToPulse ? buffers + 2 * Self.longest : nil
    outputs[.click1] = AudioBuffer(buffers, frames: frames)
    outputs[.pulse] = AudioBuffer(pulse, frames: frames)
    outputs[.run] = AudioBuffer(run, frames: frames)
    sync.run(&cycle, into: &outputs)
    listen(frames: Int(frames), events: outputs.events)
    playRack(frames: frames)
    report = outputs.report
    report.countOn(from: counts)
    while !refusesProposals, let proposal = outputs.proposals.first {
      proposals.append(proposal)
      outputs.proposals.removeFirst()
      if case .playing(let plays) = proposal.change {
        guard takesStartStops else { continue }
        (isPlaying, timeOfPlaying, startStopsTaken) = (plays, proposal.moment, proposal.number)
      } else {
        commits.append((due, proposal))
      }
    }
    told += proposals
    if isMaster { shown = sync.bbt(nextFrame: transport.frame &+ frames, requested: requests) }
  }

  /// Starts like a user. The control thread may let the transport stand until shortly before the beat.
  func pressPlay() { command(.play) }

  func command(_ command: TransportCommand) { carryOut(plan.next(.command(command), observation)) }

  /// JACK asks all clients again, each client until it has said yes.
  func beginStarting() {
    transport.state = .starting
    mayRoll = false
    othersReady = max(othersReady, due + othersTake)
    startingSince = due
  }

  /// Replaces the server by another server, whose transport stands at frame 0.
  func restart() {
    counts = report.counts
    report = report.atRest
    sync = HostSync()
    transport = Transport(state: .stopped, frame: 0)
    (mayRoll, isLocated, wasRolling, starts, stops) = (false, false, false, false, false)
    othersReady = 0
    (locate, late, relocation, shown) = (nil, nil, nil, nil)
    plan.forget()
  }

  /// Leaves the server and joins it again, as after tactus was frozen. The transport goes on meanwhile.
  func rejoin() {
    counts = report.counts
    sync = HostSync(machinesMayPlay: true, after: report)
    plan.forget()
  }

  func play(seconds: Double, frames: UInt32 = 256) {
    let end = frame + Int(seconds * Double(sampleRate))
    while frame < end { play(frames) }
  }

  /// Locates like a user while the transport rolls.
  func locate(frame: UInt32, beat: Double, step: Double) {
    let keepsTime = plan.locate(frame: frame, beat: beat, step: step, from: report)
    #expect(keepsTime)
  }

  /// The frame of a beat of the song at the session's tempo.
  func frame(of beat: Double) -> UInt32 {
    UInt32((beat * 60 / report.tempo * Double(sampleRate)).rounded())
  }

  /// Locates like a user to a beat of the song.
  func locate(to beat: Double, step: Double) { locate(frame: frame(of: beat), beat: beat, step: step) }

  /// The control thread's observation. The real thread looks every two milliseconds; here the thread looks in
  /// the middle of each cycle.
  private var observation: TransportPlan.Observation {
    let middle = due + Double(report.moment.frames) * microsPerFrame / 2
    return .init(report, at: Micros(rounding: middle), on: server)
  }

  /// Does the control thread's work with the last cycle's report.
  private func control() {
    cycles += 1
    if !controlIsLate, cycles % controlCycles == 0 {
      carryOut(plan.next(.observe, observation))
      carryOut(plan.next(.tick, observation))
      if followsSession { carryOut(plan.next(.session(report.startStop), observation)) }
    }
    guard let (cycles, frame) = late else { return }
    late = cycles > 0 ? (cycles - 1, frame) : nil
    if cycles == 0 { locate = frame }
  }

  private func carryOut(_ actions: [TransportAction]) {
    for action in actions {
      switch action {
      // JACK remembers only the last request.
      case .play: (starts, stops) = (true, false)
      case .stop: (starts, stops) = (false, true)
      case .locate(let frame, _): locate = frame
      case .locateIfOpen(let action):
        guard action.number != actionNumber, action.isOpen(transport.state, at: transport.frame) else {
          continue
        }
        actionNumber = action.number
        locate = action.place.frame
        placed.append(action.place)
      case .relocate(let next):
        relocation = next
        relocations += 1
        late = (relocatesLate, next.place.frame)
        relocatesLate = 0
      case .holdOn:
        holdRequests += 1
        if case .starting = transport.state { startingSince = due }
      case .limit, .insistOnLimit: break
      }
    }
  }

  private func listen(frames: Int, events: MIDIEvents) {
    var index = 0
    while let next = firstChange(buffers, from: index, to: frames, of: 0) {
      clicks.append(onset(next, buffers[next], latencies[.click1]))
      index = next + 1
    }
    for index in 0..<events.count {
      let event = events[index]
      mustHold(event.frame < frames)
      let heard = onset(Int(event.frame), 0, latencies[.clock]).heard
      messages.append(Message(frame: frame + Int(event.frame), heard: heard, event: event))
    }
    guard listensToPulse else { return }
    for index in 0..<frames {
      let value = buffers[Self.longest + index]
      if value != 0 {
        if lastPulse == 0 {
          pulses.append((onset(index, value, latencies[.pulse]), 1))
        } else {
          pulses[pulses.count - 1].width += 1
        }
      }
      lastPulse = value
      let run = buffers[2 * Self.longest + index]
      if run != lastRun { runEdges.append(onset(index, run, latencies[.run])) }
      lastRun = run
    }
  }

  private func playRack(frames: UInt32) {
    while rackMessages.count < rack.count {
      rackMessages.append([])
      rackEdges.append([])
      rackLevels.append(0)
    }
    let buffer = AudioBuffer(buffers, frames: frames)
    var place = 0
    while place < rack.count {
      var output = rack[place]
      sync.play(&output, at: place, into: buffer, &rackEvents)
      if place == 0 { listensToRack?(UnsafeMutableBufferPointer(start: buffers, count: Int(frames))) }
      listenToRack(place, output, frames: Int(frames))
      place += 1
    }
  }

  private func listenToRack(_ place: Int, _ output: OutputSlot, frames: Int) {
    let latency = output.latency
    mustHold(rackEvents.dropped == 0)
    var index = 0
    while index < rackEvents.count {
      let event = rackEvents[index]
      mustHold(event.frame < frames)
      rackMessages[place].append(
        Message(
          frame: frame + Int(event.frame), heard: onset(Int(event.frame), 0, latency).heard, event: event))
      index += 1
    }
    guard !output.settings.kind.isMIDI else { return }
    index = 0
    while let next = firstChange(buffers, from: index, to: frames, of: rackLevels[place]) {
      rackLevels[place] = buffers[next]
      rackEdges[place].append(onset(next, buffers[next], latency))
      index = next + 1
    }
  }

  /// Replaces `#expect` for conditions that are checked in each cycle of hours: `#expect` takes microseconds
  /// even if the condition holds.
  private func mustHold(_ holds: Bool, _ location: SourceLocation = #_sourceLocation) {
    if !holds { Issue.record("the studio's invariant does not hold", sourceLocation: location) }
  }

  private func onset(_ index: Int, _ value: Float, _ latency: UInt32) -> Onset {
    Onset(frame: frame + index, heard: due + Double(index + Int(latency)) * microsPerFrame, value: value)
  }
}

extension OutputSlot {
  /// Makes a slot of revision 0, because the studio itself counts revisions.
  init(
    number: UInt32, settings: OutputSettings, offset: Micros = .zero, latency: UInt32 = 0,
    connections: UInt32 = 0
  ) {
    self.init(
      number: number, revision: 0, settings: settings, offset: offset, latency: latency,
      connections: connections)
  }
}

extension TransportPlan {
  /// Returns the actions for JACK.
  mutating func next(_ event: Event, _ now: Observation) -> [TransportAction] {
    var actions: [TransportAction] = []
    next(event, now) { actions.append($0) }
    return actions
  }

  /// Lets the plan see a report as the control thread does, and returns the actions for JACK.
  mutating func step(_ report: Report, at time: Micros) -> [TransportAction] {
    let now = Observation(report, at: time, on: TransportServer())
    return next(.observe, now) + next(.tick, now)
  }
}

extension [TransportAction] {
  var asksToStart: Bool { contains { if case .play = $0 { true } else { false } } }
  var relocates: Bool { contains { if case .relocate = $0 { true } else { false } } }
  /// Whether these actions ask JACK for nothing but the limit.
  var asksNothing: Bool { allSatisfy { if case .limit = $0 { true } else { false } } }
}
