// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

// HostSync: all decisions within one audio cycle.
//
// A `Cycle` holds the present state of JACK, of the session and of the user's settings. `run` fills
// `Outputs`: the click, the pulse and the run gate, a list of MIDI events, and a report. Every output asks
// one question for its own port: which beat is heard when this frame reaches the speaker?
//
// On purpose HostSync has no JACK, sockets, clock, threads, files or memory of its own. Its callers pass
// audio buffers and sounds in, so a test plays an hour in seconds.
//
// The invariant: beats are numbered, and a beat that was played is remembered by its number. No code adds up
// ticks or multiplies tempo by frames, so nothing drifts. If the time is corrected, no beat is played twice
// or left out.
//
// The values here are large, and Swift copies a whole value for a call that borrows it. So methods that run
// in every cycle and only read are inlined or `mutating`, and `Cycle` and `OutputContext`, which are only
// read, are passed as `inout`.
//
// JACK calls back three times for a cycle: `mayRoll` while a transport starts, `run`, and, if we are timebase
// master, `bbt` for the next cycle. All [audio].

/// The state that lasts from one cycle to the next. The audio thread owns it while the client is active.
///
/// The struct has more than 20 properties: each part of the cycle has one, and `run` passes values between
/// the parts.
public struct HostSync: ~Copyable {
  var times = CycleTimes()
  private var freeze = FreewheelSession()
  var timebase = TimebaseWatch()
  private var gridWatch = GridWatch()
  var bend = Bend()
  var firstFrame = FirstFrame()
  var launch = Launch()
  var song = Song()
  var bars = Bars()
  /// The value of `Song.run` for which `bars` were counted. `barsOrigin` is the value of `Song.origin` at
  /// that time.
  private var barsRun: UInt64 = 0
  private var barsOrigin: Int64 = 0
  private var queuedMeter = QueuedMeter()
  var standard: StandardOutputs
  var startStop = StartStop()
  var follower = HostFollower()
  var tempoRequest = TempoRequest()
  /// The context of the last `run`, for the calls that follow in the same cycle; nil: the cycle had no
  /// frames.
  private var present: OutputContext?
  /// The number of the present stretch (`OutputContext.stretch`). A stretch is a row of cycles in which time
  /// passes and nothing else changes.
  private var stretch: UInt64 = 0
  /// Whether we hold the transport in this cycle for a relocation (a locate at a planned time) that came too
  /// late for its planned cycle.
  var awaitsRelocation = false
  /// Whether the transport rolled in the latest cycle in which its state was not Starting.
  var wasRolling = false
  var lostMIDI: UInt64 = 0
  private var commands = SentCommands()
  // The large values come last, after those that each cycle needs. Most cycles touch little of the large
  // values, and a page of memory that is not touched costs nothing.
  var clockIn = ClockIn()
  /// The sequencer's MIDI messages (clock, start, stop and position) that were received for the next `run`.
  private var received = MIDIEvents()
  var rack: OutputRack

  /// `machinesMayPlay`: another server or program ran before, so MIDI machines may have missed the last Stop.
  /// `before`: the last report of the `HostSync` before this one.
  @_noLocks @_noAllocation
  public init(machinesMayPlay: Bool = false, after before: Report = Report()) {
    startStop = StartStop(after: before.startStopState)
    standard = StandardOutputs(machinesMayPlay: machinesMayPlay)
    rack = OutputRack(machinesMayPlay: machinesMayPlay)
  }

  /// Decides and renders one cycle. [audio]
  @_noLocks @_noAllocation
  public mutating func run(_ cycle: inout Cycle, into outputs: inout Outputs) {
    outputs.clear()
    defer { received.removeAll() }
    guard cycle.frames > 0, cycle.sampleRate > 0 else {
      present = nil
      return
    }
    timebase.read(cycle.transport.bbt)
    let line = times.line(of: &cycle)
    let lost = max(0, times.passedFrames &- times.previousFrames)
    firstFrame.follow(cycle.transport, frames: cycle.frames, isSound: lost == 0)
    cycle.transport.skip = firstFrame.skip(cycle.transport, frames: cycle.frames)
    // `now` is a constant, because each call below would copy a variable.
    let now = now(&cycle, line, lostFrames: lost)
    let here = timebase.position(now)
    gridWatch.update(now.grid, heard: now.heard, passed: times.passedFrames, isCut: now.isCut)
    if gridWatch.isJump { song.rebase(by: gridWatch.movedBeats, now) }
    if !now.isFreewheeling {
      bend.follow(now.settings.bend, passed: Double(times.passedFrames) * now.frameMicros)
    }
    startSong(now, &cycle)
    song.follow(now, at: here, lostFrames: lost, leads: timebase.isForeign || now.settings.lead == .midi)
    countBars(now, &cycle)
    let barsAhead = queuedMeter.bars(bars, of: song)
    let window = Window(
      line: line, grid: now.grid, frames: Int(now.frames), correction: gridWatch.correction + abs(bend.moved),
      isJump: gridWatch.isJump, isCut: now.isCut)
    let goesOn = present?.isFollowed(
      by: now, window, song, barsAhead, bank: cycle.sounds.number, ahead: bend.ahead)
    if goesOn != true { stretch &+= 1 }
    present = OutputContext(
      now, window, song: song, bars: barsAhead, bank: cycle.sounds, ahead: bend.ahead,
      passed: times.passedFrames,
      stretch: stretch)
    standard.play(now, &present!, into: &outputs)
    propose(now, into: &outputs)
    commands.note(&outputs.events, window.line)
    report(now, &cycle, into: &outputs)
  }

  /// Answers JACK's question to our slow-sync client: may the transport roll in the next cycle? JACK asks
  /// before it calls `run`. [audio]
  @_noLocks @_noAllocation
  public mutating func mayRoll(_ cycle: inout Cycle) -> Bool {
    firstFrame.asked(cycle.transport)
    cycle.transport.skip = firstFrame.skip(cycle.transport, frames: cycle.frames)
    let mayRoll = answer(&cycle)
    firstFrame.answered(mayRoll)
    return mayRoll
  }

  private mutating func answer(_ cycle: inout Cycle) -> Bool {
    // Only `run` makes the cycle's frame line. This call comes before `run`, so it extends the last cycle's
    // line.
    let frameMicros = times.steadyFrameMicros
    let line = FrameLine(start: times.start(of: &cycle), frameMicros: frameMicros)
    let now = CycleContext(
      &cycle, &freeze, line: line, frameMicros: frameMicros, bentAhead: bend.ahead,
      holdsBriefly: launch.cuts.holdsBriefly)
    // A freewheeling server waits for no client. A leading host that may move the session's grid need not
    // wait for the grid.
    guard now.cycleMicros > 0, !now.isFreewheeling else { return true }
    if timebase.leads(now), now.mayForce { return true }
    // If the transport was stopped after the relocation was requested, the relocation does not hold the
    // transport. The next start begins as always, where the transport stands.
    if wasRolling, !launch.isHolding, let hold = cycle.relocation?.hold(now), hold != .no {
      awaitsRelocation = hold == .untilAnother
      launch.heldRelocation(now)
      return false
    }
    // A start that waits keeps its song beat at a new tempo, also if its transport has just moved.
    let here =
      launch.place(at: now.transport.frame, now)?.beat
      ?? song.position(
        atFrame: now.transport.frame, meaning: timebase.position(now), beat: 0,
        grain: now.settings.meter.grain)
    let leader = timebase.isForeign ? .none : clockIn.leader(now, launch.start, songBeat: Beats(here))
    return launch.mayRoll(
      now,
      Launch.Question(
        songBeat: Beats(here), leader: leader, isSessions: startStop.isObeying, isOurs: startStop.isOurs))
  }

  /// The position that we write for the next cycle as timebase master. Call this after `run` in the same
  /// cycle. `nextFrame` is the transport's frame in the next cycle. `requested` is the position that a client
  /// asked for. nil: this cycle had no frames. [audio]
  @_noLocks @_noAllocation
  public mutating func bbt(nextFrame: UInt32, requested: BBT? = nil) -> BBT? {
    guard let present else { return nil }
    if !present.isFreewheeling {
      // A position that a former timebase master left behind is no request to us.
      if let requested, timebase.wasOursLately {
        tempoRequest.read(requested.tempo, at: present.heard.start)
      }
    }
    let shown = present.bbt(nextFrame: nextFrame)
    if !present.isFreewheeling { tempoRequest.show(shown.tempo, at: present.heard.start) }
    timebase.publish(shown, bars)
    return shown
  }

  /// Renders one of the user's own outputs into `buffer` or into `events`. Call this after `run` in the same
  /// cycle. [audio]
  @_noLocks @_noAllocation
  public mutating func play(
    _ output: inout OutputSlot, at place: Int, into buffer: AudioBuffer, _ events: inout MIDIEvents
  ) {
    events.removeAll()
    if present != nil {
      rack.play(&output, at: place, &present!, into: buffer, &events)
      commands.note(&events, present!.window.line)
    } else {
      buffer.clear()
    }
  }

  /// The state of the MIDI clock at this place of the rack. [audio]
  @_noLocks @_noAllocation
  public mutating func clockFigures(at place: Int) -> ClockFigures { rack.figures(at: place) }

  /// Receives a message of a sequencer's clock from the port `control`. Call this before `run`. [audio]
  @_noLocks @_noAllocation
  public mutating func receive(_ event: MIDIEvent) { received.insert(event) }

  /// Returns whether a Start, Stop or Continue at the port `control` is our own message, which comes back
  /// through a cable. Call this after all outputs have played. [audio]
  @_noLocks @_noAllocation
  public mutating func isEcho(_ status: UInt8, at moment: Micros) -> Bool {
    commands.isEcho(status, at: Double(moment.count))
  }

  /// The time, on Link's clock, at which a message was sent that arrived at the port `control` at this frame
  /// of the cycle. Call this after `run` in the same cycle.
  @_noLocks @_noAllocation
  public mutating func arrival(ofFrame frame: UInt32) -> Micros {
    guard let present else { return Micros(0) }
    return Micros(rounding: present.sent.time(atFrame: Double(min(Int(frame), present.frames))))
  }
}

extension HostSync {
  /// Makes the context of this cycle, in a function of its own, so that the large value is built in place. If
  /// an export enters the song in this cycle, the context's grid is aligned with the song.
  @inline(never)
  private mutating func now(_ cycle: inout Cycle, _ line: FrameLine, lostFrames: Int64) -> CycleContext {
    guard cycle.isFreewheeling else { return now(&cycle, line) }
    var now = now(&cycle, line)
    if let entry = song.entry(now, at: timebase.position(now), lostFrames: lostFrames) {
      now.enterSong(at: entry, &freeze)
    }
    return now
  }

  @inline(__always)
  private mutating func now(_ cycle: inout Cycle, _ line: FrameLine) -> CycleContext {
    CycleContext(
      &cycle, &freeze, line: line, frameMicros: times.steadyFrameMicros, bentAhead: bend.ahead,
      isSound: times.isSound, isBack: times.isBack, holdsBriefly: launch.cuts.holdsBriefly)
  }

  /// Makes the song wait for the beat that the launch has chosen. Call this before `Song.follow`, which reads
  /// the transport's state.
  private mutating func startSong(_ now: borrowing CycleContext, _ cycle: inout Cycle) {
    guard !now.isFreewheeling else {
      launch.letGo(now.transport.state)
      song.landmark = nil
      return
    }
    if case .starting = now.transport.state {
      if let start = launch.start {
        let origin = ThirtySeconds.nearest(to: (start.target - start.songBeat).value, grain: 1)
        song.arm(startingAt: start.target.value, origin: origin)
      } else {
        song.disarm()
      }
    }
    song.landmark = launch.isIdle ? nil : launch.place(at: now.transport.frame, now)
    if song.landmark == nil { song.landmark = cycle.relocation?.place(at: now.heard.start) }
    let cuts = launch.cuts.count
    launch.observe(now, from: song.place)
    if launch.cuts.count != cuts, DeferredStart.isPossible(now.settings) { startStop.expectRestart(now) }
  }

  /// Counts the song's bars. A new meter begins at the next bar line of a song that plays, or at once if no
  /// song plays.
  private mutating func countBars(_ now: borrowing CycleContext, _ cycle: inout Cycle) {
    let meter = now.settings.meter
    queuedMeter.follow(now)
    if isBetweenPlaces(now) {
      // A locate that corrects a drifting host does not move the song. The locate's target was computed with
      // the present bars, so keep these bars.
      if cycle.relocation?.isCorrection(ofSongFrom: barsOrigin, now) != true { bars = Bars(bars.meter) }
      return
    }
    let isBack = wasRolling && song.origin == barsOrigin
    if song.isRolling, song.run == barsRun || isBack {
      let beat = queuedMeter.beat(of: meter, or: now.grid.beat(at: now.heard.start))
      bars.change(to: meter, at: song.songBeat(of: beat))
    } else {
      bars = Bars(wasRolling && song.isRolling ? bars.meter : meter)
    }
    (barsRun, barsOrigin) = (song.run, song.origin)
  }

  /// Returns whether the transport rolled, and will roll again from another place as soon as all clients are
  /// ready.
  func isBetweenPlaces(_ now: borrowing CycleContext) -> Bool {
    if case .starting = now.transport.state { wasRolling && !launch.isHolding } else { false }
  }

  /// Collects the proposals to change the session.
  private mutating func propose(_ now: borrowing CycleContext, into outputs: inout Outputs) {
    outputs.proposals.add(startStop.follow(now, startsAt: launch.isIdle ? nil : launch.start?.target))
    let master = timebase.foreign(now)
    outputs.proposals.add(follower.follow(now, master: master, leads: timebase.leads(now)))
    outputs.proposals.add(clockIn.follow(now, &received, sent: &outputs.events))
    if !now.isFreewheeling, let tempo = tempoRequest.drain() {
      outputs.proposals.add(Proposal(.tempo(tempo), at: Micros(rounding: now.heard.start)))
    }
  }
}
