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
// every cycle, methods that only read are inlined, or `mutating`, and `Cycle` and `Present`, which are only read, are handed over as
// `inout`.
//
// JACK calls back three times for a cycle: `mayRoll` while a transport starts, `run`, and `bbt` for the cycle that comes
// next, if we are timebase master. All [audio].

/// The state that lasts from one cycle to the next. The audio thread owns it while the client is active.
public struct HostSync: ~Copyable {
  var times = CycleTimes()
  private var freeze = Freeze()
  var timebase = TimebaseWatch()
  private var gridWatch = GridWatch()
  var bend = Bend()
  var firstFrame = FirstFrame()
  var launch = Launch()
  var song = Song()
  var bars = Bars()
  /// Of the song's run that these are.
  private var barsRun: UInt64 = 0
  private var barsOrigin: Int64 = 0
  private var queuedMeter = QueuedMeter()
  var standard: StandardOutputs
  var startStop = StartStop()
  var follower = HostFollower()
  var tempoRequest = TempoRequest()
  /// What the last `run` went by; what is asked after it goes by the same. nil: there was none.
  private var present: Present?
  /// `Present.stretch`.
  private var stretch: UInt64 = 0
  /// A relocation is held in this cycle that came too late for its own.
  var awaitsRelocation = false
  /// Before the transport began to start, if it does.
  var wasRolling = false
  var lostMIDI: UInt64 = 0
  private var commands = SentCommands()
  // The large ones, of which most cycles touch little, behind what each cycle needs: a page that is not touched costs nothing.
  var clockIn = ClockIn()
  /// A sequencer's clock, start, stop and position, as they came in for the next `run`.
  private var received = MIDIEvents()
  /// The user's own outputs.
  var rack: OutputRack

  /// `machinesMayPlay`: another went before this one, whose last stop perhaps nobody heard.
  @_noLocks @_noAllocation
  public init(machinesMayPlay: Bool = false) {
    standard = StandardOutputs(machinesMayPlay: machinesMayPlay)
    rack = OutputRack(machinesMayPlay: machinesMayPlay)
  }

  /// What happens in a cycle. [audio]
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
    // Of a variable each call below would get a copy of its own.
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
    present = Present(
      now, window, song: song, bars: barsAhead, bank: cycle.sounds, ahead: bend.ahead,
      passed: times.passedFrames,
      stretch: stretch)
    standard.play(now, &present!, into: &outputs)
    propose(now, into: &outputs)
    commands.note(&outputs.events, window.line)
    report(now, &cycle, into: &outputs)
  }

  /// The slow-sync client's answer for this cycle, asked before `run`: true lets the transport roll in the next.
  /// [audio]
  @_noLocks @_noAllocation
  public mutating func mayRoll(_ cycle: inout Cycle) -> Bool {
    firstFrame.asked(cycle.transport)
    cycle.transport.skip = firstFrame.skip(cycle.transport, frames: cycle.frames)
    let mayRoll = answer(&cycle)
    firstFrame.answered(mayRoll)
    return mayRoll
  }

  private mutating func answer(_ cycle: inout Cycle) -> Bool {
    // `run` alone makes a line for the cycle: the last one's goes on.
    let frameMicros = times.steadyFrameMicros
    let line = FrameLine(start: times.start(of: &cycle), frameMicros: frameMicros)
    let now = Now(
      &cycle, &freeze, line: line, frameMicros: frameMicros, bentAhead: bend.ahead,
      holdsBriefly: launch.cuts.holdsBriefly)
    // A freewheeling server waits for nobody; nor does a host that is the clock for everybody.
    guard now.cycleMicros > 0, !now.isFreewheeling else { return true }
    if timebase.leads(now), now.mayForce { return true }
    // One that was stopped meanwhile starts like any other, wherever it stands.
    if wasRolling, !launch.isHolding, let hold = cycle.relocation?.hold(now), hold != .no {
      awaitsRelocation = hold == .untilAnother
      launch.heldRelocation(now)
      return false
    }
    let here = song.position(
      atFrame: now.transport.frame, meaning: timebase.position(now), beat: 0, grain: now.settings.meter.grain)
    let leader = timebase.isForeign ? .none : clockIn.leader(now, launch.start, songBeat: Beats(here))
    return launch.mayRoll(
      now, Launch.Question(songBeat: Beats(here), leader: leader, isSessions: startStop.isObeying))
  }

  /// What the timebase master writes for the cycle that comes after this one, asked after `run` and about the same. `nextFrame`
  /// is the transport's frame then; `requested`: what somebody put into a new position. nil: there was none. [audio]
  @_noLocks @_noAllocation
  public mutating func bbt(nextFrame: UInt32, requested: BBT? = nil) -> BBT? {
    guard let present else { return nil }
    if !present.isFreewheeling {
      // What a former master left behind is no request to us.
      if let requested, timebase.wasOursLately {
        tempoRequest.read(requested.tempo, at: present.heard.start)
      }
    }
    let shown = present.bbt(nextFrame: nextFrame)
    if !present.isFreewheeling { tempoRequest.show(shown.tempo, at: present.heard.start) }
    timebase.publish(shown, bars)
    return shown
  }

  /// By what time and beat the last `run` went; nil: there was none. [audio]
  @_noLocks @_noAllocation
  public mutating func passing() -> Passing? { present?.passing }

  /// What one of the user's own outputs plays, after `run` and about the same cycle: into its buffer, or as its messages. [audio]
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

  /// How a clock among them is doing. [audio]
  @_noLocks @_noAllocation
  public mutating func clockFigures(at place: Int) -> ClockFigures { rack.figures(at: place) }

  /// A message that came in through `control` and belongs to a sequencer's clock. Before `run`. [audio]
  @_noLocks @_noAllocation
  public mutating func receive(_ event: MIDIEvent) { received.insert(event) }

  /// Whether Start, Stop or Continue that came in through `control` is one of ours that comes back. After all outputs have played. [audio]
  @_noLocks @_noAllocation
  public mutating func isEcho(_ status: UInt8, at moment: Micros) -> Bool {
    commands.isEcho(status, at: Double(moment.count))
  }

  /// When a message that came in through `control` at this frame of the cycle was sent, on Link's clock. After `run`.
  @_noLocks @_noAllocation
  public mutating func arrival(ofFrame frame: UInt32) -> Micros {
    guard let present else { return Micros(0) }
    return Micros(rounding: present.sent.time(atFrame: Double(min(Int(frame), present.frames))))
  }
}

extension HostSync {
  /// What this cycle goes by. Apart, so that it is made where it is used; while the server freewheels, a song may be entered in it.
  @inline(never)
  private mutating func now(_ cycle: inout Cycle, _ line: FrameLine, lostFrames: Int64) -> Now {
    guard cycle.isFreewheeling else { return now(&cycle, line) }
    var now = now(&cycle, line)
    if let entry = song.entry(now, at: timebase.position(now), lostFrames: lostFrames) {
      now.enterSong(at: entry, &freeze)
    }
    return now
  }

  @inline(__always)
  private mutating func now(_ cycle: inout Cycle, _ line: FrameLine) -> Now {
    Now(
      &cycle, &freeze, line: line, frameMicros: times.steadyFrameMicros, bentAhead: bend.ahead,
      isSound: times.isSound, isBack: times.isBack, holdsBriefly: launch.cuts.holdsBriefly)
  }

  /// Lets the song wait for the beat that the launch has chosen, before it sees the transport.
  private mutating func startSong(_ now: borrowing Now, _ cycle: inout Cycle) {
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
    song.landmark =
      launch.isIdle
      ? nil
      : launch.place(
        at: now.transport.frame, frameMicros: now.frameMicros, beatMicros: now.grid.beatMicros)
    if song.landmark == nil { song.landmark = cycle.relocation?.place(at: now.heard.start) }
    let cuts = launch.cuts.count
    launch.observe(now, from: song.place)
    if launch.cuts.count != cuts, StandingStart.isPossible(now.settings) { startStop.expectRestart(now) }
  }

  /// Another meter comes with the next bar line of a song that plays, and at once where none does.
  private mutating func countBars(_ now: borrowing Now, _ cycle: inout Cycle) {
    let meter = now.settings.meter
    queuedMeter.follow(now)
    if isBetweenPlaces(now) {
      // A correction of a host that drifts leaves the song where it is. The place was meant in the present bars.
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

  /// The transport rolled, and will roll again from another place as soon as all are ready.
  func isBetweenPlaces(_ now: borrowing Now) -> Bool {
    if case .starting = now.transport.state { wasRolling && !launch.isHolding } else { false }
  }

  /// What the session should change to.
  private mutating func propose(_ now: borrowing Now, into outputs: inout Outputs) {
    outputs.proposals.add(startStop.follow(now, startsAt: launch.isIdle ? nil : launch.start?.target))
    let master = timebase.foreign(now)
    outputs.proposals.add(follower.follow(now, master: master, leads: timebase.leads(now)))
    outputs.proposals.add(clockIn.follow(now, &received, sent: &outputs.events))
    if !now.isFreewheeling, let tempo = tempoRequest.take() {
      outputs.proposals.add(Proposal(.tempo(tempo), at: Micros(rounding: now.heard.start)))
    }
  }
}
