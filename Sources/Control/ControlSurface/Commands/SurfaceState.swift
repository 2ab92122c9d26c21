// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
public import TactusChoices

/// Everything that can be sent to a controller. The program keeps this state up to date; the surface compares
/// it and sends the changes.
public struct SurfaceState: Hashable, Sendable {
  public var choices = Settings()

  // the session
  public var timeline: Timeline
  public var peers = 0
  /// The addresses of the peers, as `peers/list` sends them. The text is made when the peers change, not each
  /// time that all rows are read.
  public var peerList = ""
  /// Whether tactus takes part in Link, as `--life` decides.
  public var linkActive = true
  /// Whether the session plays (Link's start/stop state).
  public var playing = false
  public var transport = Transport.stopped(at: .zero)
  /// The present leader. For another tactus, `.auto` means that the leader is unknown.
  public var leading = Lead.link
  public var midiClock = MIDIClockIn.off
  /// The user's tempo, while the session has a tempo that a leading host or MIDI clock dictated.
  public var chosenTempo: Tempo?
  /// Learned bindings of keys, knobs and pedals, as text.
  public var learned: [String] = []
  /// The channels of Link Audio that the user wants, in the form of `--send` and `--receive`.
  public var sends: [String] = []
  public var receives: [String] = []
  public var audio = ShownAudio()
  /// The other rooms that tactus calls, in the form of `--link-to`.
  public var calls: [String] = []
  public var far = ShownFar()
  /// The outputs that the user has added.
  public var outputs: [NamedOutput] = []
  /// The states of the user's own outputs, by name.
  public var outputHealth: [String: OutputHealth] = [:]

  /// The set list.
  public var songs: [SetSong] = []
  /// The place in the set list, for a view. In the running program only the surface knows this place.
  public var place = SetPlace()

  // the host
  public var jackConnected = false
  public var clientName = ""
  public var timebase = Timebase.nobody
  /// Whether we are still timebase master although the user no longer wants it. If the master left while
  /// clients roll, JACK would relocate all of them.
  public var leavesTimebase = false
  public var sampleRate = 0
  public var framesPerCycle = 0
  public var xruns = 0
  public var lostCycles = 0
  public var refusedLatencies = 0
  /// The outputs at which other programs are heard, and why these were chosen.
  public var sinks = ""
  public var sinkState = SinkState.none

  public var page = PageReach.off
  /// For each address at which the page is missing, the reason.
  public var pageLacks: [String] = []

  // outputs
  public var latencyMilliseconds = PerPort(repeating: 0.0)
  /// The jitter of the clock and the pulses, rounded to what an ear can tell apart.
  public var jitterMicros = PerPort(repeating: 0.0)
  public var isClickConnected = false

  // read-outs
  public var driftPartsPerMillion = 0.0
  public var launchErrorMilliseconds = 0.0
  /// The song's bars, if its meter changed while it played; nil: all bars have the chosen meter.
  public var changedBars: Bars?
  /// Whether there was a launch since the start: before that, a launch error means nothing.
  public var hasLaunched = false
  /// The position in the song from which a waiting start begins.
  public var startPlace = Beats.zero
  /// The launch moment of one start, if its command has another than the setting.
  public var askedLaunch: LaunchMoment?
  public var leadErrorMilliseconds = 0.0
  /// How far a host that counts frames lags behind the session.
  public var lagMilliseconds = 0.0
  /// How far the user's bend has moved our outputs ahead of the session.
  public var aheadMilliseconds = 0.0
  public var movedLaunches = 0
  public var corrections = 0
  public var doing = Doing.stopped
  public var message = ""
  /// The result of the last request to save, whether it failed, and how many requests there were.
  public var saved = ""
  public var hasSaveFailed = false
  public var saves = 0

  public init(timeline: Timeline = Timeline(tempo: Tempo(120), beatOrigin: .zero, timeOrigin: .zero)) {
    self.timeline = timeline
  }

  /// Whether the click is on while its port is not connected.
  public var isClickLost: Bool { choices.click.isOn && jackConnected && !isClickConnected }

  public var tempo: Tempo { timeline.tempo }

  /// The state of the host's transport. Song beat = session beat - origin. The session beat comes from the
  /// timeline; its phase is encoded with the quantum.
  public enum Transport: Hashable, Sendable {
    case stopped(at: Beats)
    /// A start waits until the session reaches `origin`; meanwhile the song beat is negative and counts up.
    case waiting(origin: Beats)
    case rolling(origin: Beats)
  }

  /// The state of the MIDI clock at the control port, while the user wants that clock to lead.
  public enum MIDIClockIn: Hashable, Sendable {
    case off, silent, acquiring
    case locked(Tempo)
    case lost
    /// The MIDI clock that comes in is our own, sent back to us.
    case echo
    case unknown
  }

  public enum Timebase: Hashable, Sendable {
    case nobody, tactus
    case other(String)
    case unknown
  }
}

// Values at a given time.
extension SurfaceState {
  public func sessionBeats(at time: Micros) -> Beats {
    timeline.phaseEncodedBeats(at: time, quantum: Beats(choices.quantum))
  }

  public func time(atSessionBeats beats: Beats) -> Micros {
    timeline.time(atPhaseEncoded: beats, quantum: Beats(choices.quantum))
  }

  /// The beat of the song: negative before the launch; while stopped, the position of the transport.
  public func songBeats(at time: Micros) -> Beats {
    switch transport {
    case .stopped(let beats): beats
    case .waiting(let origin), .rolling(let origin): sessionBeats(at: time) - origin
    }
  }

  /// The beat that the beat display shows: the song's beat while the song waits or rolls, otherwise the
  /// session's.
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

  /// The bars of the beat display and of the click: the song's bars while the song waits or rolls, otherwise
  /// bars that fit the quantum.
  public var shownBars: Bars {
    switch transport {
    case .stopped: Bars(choices.standingMeter)
    case .waiting, .rolling: bars
    }
  }

  /// The position in the shown bar, in notes from 0, with the part of the present note that has passed.
  public func shownPlace(at time: Micros) -> Double {
    let place = shownBars.place(at: shownBeats(at: time).value)
    return Double(place.note) + place.passed
  }

  /// How many notes the shown bar has at this time.
  public func shownBar(at time: Micros) -> Int { Int(shownMeter(at: time).beats) }

  private func shownMeter(at time: Micros) -> Meter {
    shownBars.meter(at: ThirtySeconds.before(shownBeats(at: time).value))
  }

  /// The start of the note that is shown at this time, in 32nds from `shownOrigin`.
  func shownNote(at time: Micros) -> Int64 {
    let here = ThirtySeconds.before(shownBeats(at: time).value)
    return here &- shownBars.place(of: here).rest
  }

  /// The session beat at which the next shown note begins.
  public func nextShownNote(after time: Micros) -> Beats {
    let next = shownNote(at: time) &+ shownMeter(at: time).note
    return shownOrigin + Beats(micros: next &* ThirtySeconds.micros)
  }

  /// How many notes of the meter remain until the waiting start; 0: no start waits.
  public func notesToLaunch(at time: Micros) -> Double {
    guard case .waiting = transport else { return 0 }
    return max(0, -songBeats(at: time).value) * choices.meter.notesPerBeat
  }

  /// The session beat at which a request that is made now takes effect.
  func next(_ launch: LaunchMoment, after time: Micros) -> Beats {
    let now = sessionBeats(at: time)
    let grid: Beats
    let origin: Beats
    switch (launch, transport) {
    case (.now, _): return now
    case (.beat, _): (grid, origin) = (Beats(1), .zero)
    case (.bar, .stopped): (grid, origin) = (Beats(choices.quantum), .zero)
    case (.bar, .waiting(let start)), (.bar, .rolling(let start)):
      // Beats are whole millionths: a beat that is rounded to just below a bar line belongs to that bar line.
      return start + Beats(micros: bars.line(atOrAfter: (now - start).value) &* ThirtySeconds.micros)
    }
    return now.nextMatchingPhase(of: origin, quantum: grid)
  }
}
