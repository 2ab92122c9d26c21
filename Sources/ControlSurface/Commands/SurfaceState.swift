// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
public import Choices

/// All that a controller can be told. The program keeps it up to date; the surface compares, and sends what changed.
public struct SurfaceState: Hashable, Sendable {
  public var choices = Settings()

  // the session
  public var timeline: Timeline
  public var peers = 0
  /// Where they are, as `peers/list` says it: made once for each look at them, not for each look at all rows.
  public var peerList = ""
  /// The program wants the network, where the user wants Link.
  public var linkActive = true
  /// The session's start/stop state.
  public var playing = false
  public var transport = Transport.stopped(at: .zero)
  /// Who leads at this moment; never `.auto`.
  public var leading = Lead.link
  public var midiClock = MIDIClockIn.off
  /// What was chosen, while the session has a tempo that a leading host or MIDI clock dictated.
  public var chosenTempo: Tempo?
  /// What keys, knobs and pedals were taught, as text.
  public var learned: [String] = []
  /// Channels of Link Audio that the user wants, as `--send` and `--receive` take them.
  public var sends: [String] = []
  public var receives: [String] = []
  public var audio = ShownAudio()
  /// Other rooms that are called, as `--link-to` takes them.
  public var calls: [String] = []
  public var far = ShownFar()
  /// The outputs that the user has added.
  public var outputs: [NamedOutput] = []
  /// How they are doing, by their names.
  public var outputHealth: [String: OutputHealth] = [:]

  /// The set list.
  public var songs: [SetSong] = []

  // the host
  public var jackConnected = false
  public var clientName = ""
  public var timebase = Timebase.nobody
  /// It is ours and nobody wants that any more: JACK would move everybody if its master left while they roll.
  public var leavesTimebase = false
  public var sampleRate = 0
  public var framesPerCycle = 0
  public var xruns = 0
  public var lostCycles = 0
  public var refusedLatencies = 0
  /// Where other programs are heard, and why there.
  public var sinks = ""

  public var page = PageReach.off
  /// Why it is not where it should be.
  public var pageLacks: [String] = []

  // outputs
  public var latencyMilliseconds = PerPort(repeating: 0.0)
  /// Of the clock and the pulses, as coarse as an ear is.
  public var jitterMicros = PerPort(repeating: 0.0)
  public var isClickConnected = false

  // read-outs
  public var driftPartsPerMillion = 0.0
  public var launchErrorMilliseconds = 0.0
  /// Where the bars of a song are whose meter has changed, or will, while it plays.
  public var changedBars: Bars?
  /// There was a launch, so that its error means something.
  public var hasLaunched = false
  public var leadErrorMilliseconds = 0.0
  /// A host that counts frames, behind the session.
  public var lagMilliseconds = 0.0
  /// Our outputs ahead of the session, by hand.
  public var aheadMilliseconds = 0.0
  public var movedLaunches = 0
  public var corrections = 0
  public var status = ""
  public var message = ""
  /// What came of the last order to save, and of how many.
  public var saved = ""
  public var saves = 0

  public init(timeline: Timeline = Timeline(tempo: Tempo(120), beatOrigin: .zero, timeOrigin: .zero)) {
    self.timeline = timeline
  }

  /// It plays, and nobody hears it.
  public var isClickLost: Bool { choices.click.isOn && jackConnected && !isClickConnected }

  public var tempo: Tempo { timeline.tempo }

  /// Where the host's transport is. Song beat = session beat - origin; the session beat is the timeline's,
  /// phase-encoded with the quantum.
  public enum Transport: Hashable, Sendable {
    case stopped(at: Beats)
    /// Held until the session reaches `origin`: the song beat is negative and counts up.
    case waiting(origin: Beats)
    case rolling(origin: Beats)
  }

  /// The sequencer's clock at the control port, while it is to lead.
  public enum MIDIClockIn: Hashable, Sendable {
    case off, silent, acquiring
    case locked(Tempo)
    case lost
    /// It is our own clock, which comes back.
    case echo
  }

  public enum Timebase: Hashable, Sendable {
    case nobody, tactus
    case other(String)
  }
}

// Questions about a moment.
extension SurfaceState {
  public func sessionBeats(at time: Micros) -> Beats {
    timeline.phaseEncodedBeats(at: time, quantum: Beats(choices.quantum))
  }

  public func time(atSessionBeats beats: Beats) -> Micros {
    timeline.time(atPhaseEncoded: beats, quantum: Beats(choices.quantum))
  }

  /// Negative before the launch; where it stands still while stopped.
  public func songBeats(at time: Micros) -> Beats {
    switch transport {
    case .stopped(let beats): beats
    case .waiting(let origin), .rolling(let origin): sessionBeats(at: time) - origin
    }
  }

  /// The beat that the beat display shows: the song's while it moves, else the session's own.
  public func shownBeats(at time: Micros) -> Beats { sessionBeats(at: time) - shownOrigin }

  public var shownOrigin: Beats {
    switch transport {
    case .stopped: .zero
    case .waiting(let origin), .rolling(let origin): origin
    }
  }

  /// The song's.
  public var bars: Bars {
    if case .rolling = transport, let changedBars { changedBars } else { Bars(choices.meter) }
  }

  /// The bars that are shown, and that a click has: the song's while it moves, else what fits the quantum.
  public var shownBars: Bars {
    switch transport {
    case .stopped: Bars(choices.standingMeter)
    case .waiting, .rolling: bars
    }
  }

  /// The place in the bar that is shown, in its notes from 0, with what has passed of one.
  public func shownPlace(at time: Micros) -> Double {
    let place = shownBars.place(at: shownBeats(at: time).value)
    return Double(place.note) + place.passed
  }

  /// Notes of the bar that is shown at this moment.
  public func shownBar(at time: Micros) -> Int { Int(shownMeter(at: time).beats) }

  private func shownMeter(at time: Micros) -> Meter {
    shownBars.meter(at: ThirtySeconds.before(shownBeats(at: time).value))
  }

  /// Where the note began that is shown at this moment, in 32nds of what is shown.
  func shownNote(at time: Micros) -> Int64 {
    let here = ThirtySeconds.before(shownBeats(at: time).value)
    return here &- shownBars.place(of: here).rest
  }

  /// When the next one begins, as a session beat.
  public func nextShownNote(after time: Micros) -> Beats {
    let next = shownNote(at: time) &+ shownMeter(at: time).note
    return shownOrigin + Beats(micros: next &* ThirtySeconds.micros)
  }

  /// How long a start waits still, in notes of the meter; 0: none does.
  public func notesToLaunch(at time: Micros) -> Double {
    guard case .waiting = transport else { return 0 }
    return max(0, -songBeats(at: time).value) * choices.meter.notesPerBeat
  }

  /// The session beat at which something asked for now, on the beat or on the bar, happens.
  func next(_ launch: LaunchMoment, after time: Micros) -> Beats {
    let now = sessionBeats(at: time)
    let grid: Beats
    let origin: Beats
    switch (launch, transport) {
    case (.now, _): return now
    case (.beat, _): (grid, origin) = (Beats(1), .zero)
    case (.bar, .stopped): (grid, origin) = (Beats(choices.quantum), .zero)
    case (.bar, .waiting(let start)), (.bar, .rolling(let start)):
      // Beats are whole millionths: a hair before a line is not behind it.
      return start + Beats(micros: bars.line(atOrAfter: (now - start).value) &* ThirtySeconds.micros)
    }
    return now.nextMatchingPhase(of: origin, quantum: grid)
  }
}
