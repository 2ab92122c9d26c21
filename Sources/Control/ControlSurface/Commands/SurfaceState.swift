// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
public import TactusChoices

/// Everything that a controller can be sent. The program keeps it up to date; the surface compares, and sends
/// what changed.
public struct SurfaceState: Hashable, Sendable {
  public var choices = Settings()

  // the session
  public var timeline: Timeline
  public var peers = 0
  /// Addresses of the peers, as `peers/list` sends them: made when the peers change, not each time that all
  /// rows are read.
  public var peerList = ""
  /// Whether tactus takes part in Link, as `--life` decides.
  public var linkActive = true
  /// The session's start/stop state.
  public var playing = false
  public var transport = Transport.stopped(at: .zero)
  /// The present leader. `.auto`: unknown, in the state of another tactus.
  public var leading = Lead.link
  public var midiClock = MIDIClockIn.off
  /// The user's tempo, while the session has one that a leading host or MIDI clock dictated.
  public var chosenTempo: Tempo?
  /// Learned bindings of keys, knobs and pedals, as text.
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
  /// The states of the user's own outputs, by name.
  public var outputHealth: [String: OutputHealth] = [:]

  /// The set list.
  public var songs: [SetSong] = []
  /// The place in the set list, for a view. In the running program the surface alone knows it.
  public var place = SetPlace()

  // the host
  public var jackConnected = false
  public var clientName = ""
  public var timebase = Timebase.nobody
  /// We are timebase master though that is no longer wanted: if the master left while clients roll, JACK
  /// would relocate all of them.
  public var leavesTimebase = false
  public var sampleRate = 0
  public var framesPerCycle = 0
  public var xruns = 0
  public var lostCycles = 0
  public var refusedLatencies = 0
  /// Outputs at which other programs are heard, and the reason why there.
  public var sinks = ""
  public var sinkState = SinkState.none

  public var page = PageReach.off
  /// Reasons why the page is missing at addresses where it should be.
  public var pageLacks: [String] = []

  // outputs
  public var latencyMilliseconds = PerPort(repeating: 0.0)
  /// Jitter of the clock and the pulses, rounded to what an ear can tell.
  public var jitterMicros = PerPort(repeating: 0.0)
  public var isClickConnected = false

  // read-outs
  public var driftPartsPerMillion = 0.0
  public var launchErrorMilliseconds = 0.0
  /// Bars of a song whose meter changes while it plays; nil: all bars have the chosen meter.
  public var changedBars: Bars?
  /// Whether there was a launch, so that its error means something.
  public var hasLaunched = false
  /// The place in the song from which a start that waits begins.
  public var startPlace = Beats.zero
  /// The boundary that one start waits for, if its command has chosen another than `launch` says.
  public var askedLaunch: LaunchMoment?
  public var leadErrorMilliseconds = 0.0
  /// How far a host that counts frames is behind the session.
  public var lagMilliseconds = 0.0
  /// How far our outputs were moved ahead of the session by hand.
  public var aheadMilliseconds = 0.0
  public var movedLaunches = 0
  public var corrections = 0
  public var doing = Doing.stopped
  public var message = ""
  /// Result of the last request to save, whether it failed, and the number of those.
  public var saved = ""
  public var hasSaveFailed = false
  public var saves = 0

  public init(timeline: Timeline = Timeline(tempo: Tempo(120), beatOrigin: .zero, timeOrigin: .zero)) {
    self.timeline = timeline
  }

  /// The click is on, but its port is not connected.
  public var isClickLost: Bool { choices.click.isOn && jackConnected && !isClickConnected }

  public var tempo: Tempo { timeline.tempo }

  /// State of the host's transport. Song beat = session beat - origin; the session beat is the timeline's,
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
    /// Our own clock, which comes back.
    case echo
    case unknown
  }

  public enum Timebase: Hashable, Sendable {
    case nobody, tactus
    case other(String)
    case unknown
  }
}

// Values at a moment.
extension SurfaceState {
  public func sessionBeats(at time: Micros) -> Beats {
    timeline.phaseEncodedBeats(at: time, quantum: Beats(choices.quantum))
  }

  public func time(atSessionBeats beats: Beats) -> Micros {
    timeline.time(atPhaseEncoded: beats, quantum: Beats(choices.quantum))
  }

  /// Negative before the launch; while stopped, the position of the transport.
  public func songBeats(at time: Micros) -> Beats {
    switch transport {
    case .stopped(let beats): beats
    case .waiting(let origin), .rolling(let origin): sessionBeats(at: time) - origin
    }
  }

  /// The beat that the beat display shows: the song's while it waits or rolls, else the session's.
  public func shownBeats(at time: Micros) -> Beats { sessionBeats(at: time) - shownOrigin }

  public var shownOrigin: Beats {
    switch transport {
    case .stopped: .zero
    case .waiting(let origin), .rolling(let origin): origin
    }
  }

  /// The song's bars.
  public var bars: Bars {
    if case .rolling = transport, let changedBars { changedBars } else { Bars(choices.meter) }
  }

  /// Bars of the beat display and of the click: the song's while it waits or rolls, else bars that fit the
  /// quantum.
  public var shownBars: Bars {
    switch transport {
    case .stopped: Bars(choices.standingMeter)
    case .waiting, .rolling: bars
    }
  }

  /// The place in the shown bar, in notes from 0, with the passed part of the present note.
  public func shownPlace(at time: Micros) -> Double {
    let place = shownBars.place(at: shownBeats(at: time).value)
    return Double(place.note) + place.passed
  }

  /// Notes in the shown bar at this moment.
  public func shownBar(at time: Micros) -> Int { Int(shownMeter(at: time).beats) }

  private func shownMeter(at time: Micros) -> Meter {
    shownBars.meter(at: ThirtySeconds.before(shownBeats(at: time).value))
  }

  /// Start of the note that is shown at this moment, in 32nds from `shownOrigin`.
  func shownNote(at time: Micros) -> Int64 {
    let here = ThirtySeconds.before(shownBeats(at: time).value)
    return here &- shownBars.place(of: here).rest
  }

  /// The session beat at which the next shown note begins.
  public func nextShownNote(after time: Micros) -> Beats {
    let next = shownNote(at: time) &+ shownMeter(at: time).note
    return shownOrigin + Beats(micros: next &* ThirtySeconds.micros)
  }

  /// Notes of the meter until the waiting start; 0: none waits.
  public func notesToLaunch(at time: Micros) -> Double {
    guard case .waiting = transport else { return 0 }
    return max(0, -songBeats(at: time).value) * choices.meter.notesPerBeat
  }

  /// The session beat at which a request made now takes effect.
  func next(_ launch: LaunchMoment, after time: Micros) -> Beats {
    let now = sessionBeats(at: time)
    let grid: Beats
    let origin: Beats
    switch (launch, transport) {
    case (.now, _): return now
    case (.beat, _): (grid, origin) = (Beats(1), .zero)
    case (.bar, .stopped): (grid, origin) = (Beats(choices.quantum), .zero)
    case (.bar, .waiting(let start)), (.bar, .rolling(let start)):
      // Beats are whole millionths: a beat just before a line belongs to that line.
      return start + Beats(micros: bars.line(atOrAfter: (now - start).value) &* ThirtySeconds.micros)
    }
    return now.nextMatchingPhase(of: origin, quantum: grid)
  }
}
