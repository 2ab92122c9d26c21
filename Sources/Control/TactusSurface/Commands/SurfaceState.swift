// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath
public import TactusChoices

/// Everything that can be sent to a controller. Each part has one owner in the program, which fills the part
/// and hands it over whole. The surface compares two states and sends the differences.
///
/// There are 21 properties because values that no part owns, such as the transport, change one by one.
public struct SurfaceState: Hashable, Sendable {
  public var choices = Settings()
  public var lists = UserLists()
  public var link = LinkState()
  public var audio = ShownAudio()
  public var far = ShownFar()
  public var jack = JACKState()
  public var readings = Readings()
  public var page = Page()
  public var saving = SaveResult()

  public var timeline: Timeline
  /// The user's tempo, while the session has a tempo that a leading host or MIDI clock dictated.
  public var chosenTempo: Tempo?
  /// The present leader. For another tactus, `.auto` means that the leader is unknown.
  public var leading = Lead.link
  public var midiClock = MIDIClockIn.off

  public var transport = Transport.stopped(at: .zero)
  public var doing = Doing.stopped
  /// The position in the song from which a waiting start will play.
  public var startPlace = Beats.zero
  /// The launch moment of the next start, if its command gave another moment than the setting does.
  public var askedLaunch: LaunchMoment?
  /// The song's bars, if its meter changed while it played; nil: all bars have the chosen meter.
  public var changedBars: Bars?
  /// The place in the set list, for a view. In the running program only the surface knows this place.
  public var place = SetPlace()
  /// The tempo that waits for its beat, in BPM, for a view; 0: none. In the running program only the surface
  /// knows it.
  public var tempoWaiting = 0.0
  /// The last line of news.
  public var message = ""

  public init(timeline: Timeline = Timeline(tempo: Tempo(120), beatOrigin: .zero, timeOrigin: .zero)) {
    self.timeline = timeline
  }

  /// Whether the click is on while its port is not connected.
  public var isClickLost: Bool { choices.click.isOn && jack.isRunning && !jack.isClickConnected }

  public var tempo: Tempo { timeline.tempo }

  /// The state of the host's transport. Song beat = session beat - origin. The session beat comes from the
  /// timeline; its phase is encoded with the quantum.
  public enum Transport: Hashable, Sendable {
    case stopped(at: Beats)
    /// A start waits until the session reaches `origin`. Until then the song's beat is negative and counts
    /// up to 0.
    case waiting(origin: Beats)
    case rolling(origin: Beats)
  }

  /// The state of the MIDI clock at the control port, while the user wants that clock to lead.
  public enum MIDIClockIn: Hashable, Sendable {
    case off, silent, acquiring
    case locked(Tempo)
    case lost
    /// The MIDI clock at the control port is our own clock, which another program sends back.
    case echo
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

  /// The number of notes of the meter in the bar that is shown at `time`, such as 7 in 7/8.
  public func shownBar(at time: Micros) -> Int { Int(shownMeter(at: time).beats) }

  private func shownMeter(at time: Micros) -> Meter {
    shownBars.meter(at: ThirtySeconds.before(shownBeats(at: time).value))
  }

  /// The start of the note of the bar that the display shows at this time, in 32nds from
  /// `shownOrigin`.
  func shownNote(at time: Micros) -> Int64 {
    let here = ThirtySeconds.before(shownBeats(at: time).value)
    return here &- shownBars.place(of: here).rest
  }

  /// The session beat at which the next shown note begins.
  public func nextShownNote(after time: Micros) -> Beats {
    let next = shownNote(at: time) &+ shownMeter(at: time).note
    return shownOrigin + Beats(millionths: next &* ThirtySeconds.millionths)
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
      // Beats are whole millionths. If a bar line's beat was rounded down, it still belongs to that bar
      // line.
      return start + Beats(millionths: bars.line(atOrAfter: (now - start).value) &* ThirtySeconds.millionths)
    }
    return now.nextMatchingPhase(of: origin, quantum: grid)
  }
}
