// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices

// HostSync: everything that is decided inside one audio cycle.
//
// A `Cycle` says what JACK, the session and the user's settings are now; `run` fills `Outputs`: the click, the
// pulse and the run gate, a list of MIDI events, and a report. Every part asks the same question, each for its
// own port: which beat is heard when this frame reaches the speaker?
//
// It lacks, on purpose: JACK, sockets, a clock, threads, files, memory of its own. Audio buffers and sounds are
// given to it, so that a test plays it an hour in seconds.
//
// One invariant: beats are numbered, and what was played is remembered by number. Nothing accumulates ticks or
// multiplies tempo by frames, so nothing drifts, and no correction of time plays a beat twice or not at all.
//
// These values are large, and Swift copies one whole for a call that borrows it. So where the audio thread comes by in
// every cycle, methods that only read are inlined, or `mutating`.
//
// Way in: `HostSync.run`, then `CycleTimes` (which time is frame 0?), `Song` (which beat?), `Ticker` (which
// boundaries fall into this buffer?), `ClickVoice` and `MIDIClock` (what is done there). All [audio].

/// The state that lasts from one cycle to the next. The audio thread owns it while the client is active.
public struct HostSync: ~Copyable {
  var times = CycleTimes()
  var gridWatch = GridWatch()
  var song = Song()
  private var click1 = Click()
  private var click2 = Click()
  private var clock = MIDIClock()
  private var pulse = Pulse()
  var launch = Launch()
  var follower = HostFollower()
  var clockIn = ClockIn()
  /// `clockIn` has heard something since it was new.
  var hearsClock = false
  /// A sequencer's clock, start, stop and position, as they came in for the next `run`.
  var received = MIDIEvents()
  /// When what came in through `control` in this cycle was sent.
  var arrived = FrameLine(start: 0, perFrame: 1)
  var tempoRequest = TempoRequest()
  static let doubtfulCycles: UInt32 = 3
  /// What we wrote last as timebase master, whose word the transport shows now, and whose it is to show it.
  var published: BBT?
  var shows = Timebase.nobodys
  var timebase = Timebase.nobodys
  var cyclesSinceOurs: UInt32 = .max
  private var freeze = Freeze()
  /// What the last `run` went by; what is asked after it goes by the same.
  var last: Now?
  var wasRunning = false
  /// The start or stop that was told and that the session does not show yet.
  var toldPlaying: Bool?
  private var wasRecording = false
  private var droppedEvents: UInt64 = 0

  @_noLocks @_noAllocation
  public init() {}

  /// A message that came in through `control` and belongs to a sequencer's clock. Before `run`. [audio]
  @_noLocks @_noAllocation
  public mutating func receive(_ event: MIDIEvent) { received.insert(event) }

  /// Decides one cycle. [audio]
  @_noLocks @_noAllocation
  public mutating func run(_ cycle: borrowing Cycle, into outputs: inout Outputs) {
    outputs.clear()
    defer { received.removeAll() }
    guard cycle.frames > 0, cycle.sampleRate > 0 else { return }
    readTimebase(cycle.transport.bbt)
    let line = times.line(of: cycle)
    var now = Now(cycle, &freeze, line: line, perFrame: times.steadyPerFrame, isBack: times.isBack)
    let lost = max(0, times.passedFrames &- times.previousFrames)
    let here = position(now)
    if let entry = song.entry(now, at: here, lostFrames: lost) { now.enterSong(at: entry, &freeze) }
    last = now
    arrived = now.line.delayed(by: -Double(now.latencies.control) * now.perFrame)
    gridWatch.update(now.grid, heard: now.heard, passed: times.passedFrames, isCut: now.isCut)
    if gridWatch.isJump { song.rebase(by: gridWatch.movedBeats, now) }
    startSong(now)
    song.follow(now, at: here, lostFrames: lost)
    render(now, cycle.sounds, into: &outputs)
    passOnRecord(now.settings.records, into: &outputs.events)
    outputs.proposals.add(passOnStartStop(now))
    outputs.proposals.add(followHost(now))
    outputs.proposals.add(followClock(now, sent: outputs.events))
    if !now.isFreewheeling, let tempo = tempoRequest.take() {
      outputs.proposals.add(Proposal(.tempo(tempo), at: Micros(rounding: now.heard.start)))
    }
    droppedEvents &+= UInt64(outputs.events.dropped)
    outputs.report.driftPPM = times.driftPPM(on: cycle.clock)
    outputs.report.oldestBank = min(
      click1.oldestBank(cycle.sounds.number), click2.oldestBank(cycle.sounds.number))
    report(now, into: &outputs.report)
  }

  /// What is heard: each port for its own latency.
  private mutating func render(_ now: borrowing Now, _ bank: SoundBank, into outputs: inout Outputs) {
    let latencies = now.latencies, offsets = now.settings.offsets
    click1.render(
      into: outputs.click1, window: window(now, latencies.click1, offsets.click1), song: song,
      settings: now.settings, bank: bank, sampleRate: now.sampleRate)
    click2.render(
      into: outputs.click2, window: window(now, latencies.click2, offsets.click2), song: song,
      settings: now.settings, bank: bank, sampleRate: now.sampleRate)
    pulse.render(
      into: outputs.pulse, window: window(now, latencies.pulse, offsets.pulse), song: song,
      settings: now.settings, passed: times.passedFrames, sampleRate: now.sampleRate)
    RunGate.render(into: outputs.run, window: window(now, latencies.run, offsets.run), song: song)
    clock.run(
      into: &outputs.events, window: window(now, latencies.clock, offsets.clock), song: song,
      transport: now.transport, settings: now.settings.clock, isSilenced: now.isFreewheeling,
      passed: times.passedFrames)
  }

  /// When a message that came in through `control` at this frame of the cycle was sent, on Link's clock. After `run`.
  @_noLocks @_noAllocation
  public mutating func arrival(ofFrame frame: UInt32) -> Micros {
    Micros(rounding: arrived.time(atFrame: Double(min(frame, last?.frames ?? 0))))
  }

  private mutating func passOnRecord(_ records: Bool, into events: inout MIDIEvents) {
    guard records != wasRecording else { return }
    wasRecording = records
    events.insert(MIDIEvent(frame: 0, machineControl: records ? MIDI.recordStrobe : MIDI.recordExit))
  }

  @inline(__always)
  private func window(_ now: borrowing Now, _ latency: UInt32, _ offset: Micros) -> Window {
    Window(
      line: now.heard(through: latency, offset), grid: now.grid, frames: Int(now.frames),
      correction: gridWatch.correction, isJump: gridWatch.isJump, isCut: now.isCut)
  }

  /// The question is asked before `run`, which alone makes a line for the cycle: the last one's goes on.
  mutating func now(extrapolatedTo cycle: borrowing Cycle) -> Now {
    let perFrame = times.steadyPerFrame
    return Now(
      cycle, &freeze, line: FrameLine(start: times.start(of: cycle), perFrame: perFrame), perFrame: perFrame)
  }

  private mutating func report(_ now: borrowing Now, into report: inout Report) {
    let heard = now.heard.start
    let sessionBeat = now.grid.beat(at: heard)
    let quantum = now.settings.quantum
    report.sessionBeat = sessionBeat
    report.phase = quantum > 0 ? sessionBeat - quantum * Double(Int64(flooring: sessionBeat / quantum)) : 0
    report.isRolling = song.isRolling
    report.isWaiting = song.isWaiting
    report.songBeat =
      song.isRolling || song.isWaiting ? song.songBeat(of: sessionBeat) : song.standing
    let whole = Int64(flooring: report.songBeat)
    let perBar = now.settings.meter.beats
    report.bar = Ticker.floorDivide(whole, perBar) &+ 1
    report.beat = Int32(truncatingIfNeeded: Ticker.floorRemainder(whole, perBar)) &+ 1
    report.tempo = now.session.tempo
    report.clicks = click1.count
    report.clocks = clock.count
    report.pulses = pulse.count
    report.lateEvents = click1.late &+ click2.late &+ clock.late &+ pulse.late
    report.skippedEvents = click1.skipped &+ click2.skipped
    report.jumps = gridWatch.jumps
    report.droppedMIDIEvents = droppedEvents
    report.wrappedPositions = clock.wrapped
    report.stolenVoices = click1.stolen &+ click2.stolen
    report.lostCycles = times.lostCycles
    report.insanePairs = times.insanePairs
    report.bridgedCycles = times.bridgedCycles
    report.stalls = times.stalls
    report.filterError = times.filterError
    reportHost(now, into: &report)
    report.proposals = follower.proposals &+ clockIn.follower.proposals
    if case .midi = now.settings.lead {
      report.hostPhaseError = clockIn.follower.phaseError
      report.hostTempo = clockIn.follower.hostTempo
      report.correctsPhase = clockIn.follower.isCorrecting
    }
    report.clockInState = clockIn.loop.state
    report.clockInTempo = clockIn.loop.beatsPerMinute
    report.clockInRuns = clockIn.loop.isRunning
    report.lostClocks = clockIn.loop.missed
    report.isClockInEcho = clockIn.isEcho
  }
}
