// SPDX-License-Identifier: GPL-2.0-or-later
public import TactusChoices

/// The report of one cycle. It is small and has a fixed size, so that it fits a queue or a published value.
/// Its counters only grow.
public struct Report: Sendable, BitwiseCopyable {
  /// The session's beat that is heard through the physical outputs at frame 0 of this cycle.
  public var sessionBeat = 0.0
  /// The song's beat: 0 at the song's start, negative before that. While nothing rolls, this is the beat at
  /// which the transport stands.
  public var songBeat = 0.0
  public var isRolling = false
  /// Whether a launch waits for its beat.
  public var isWaiting = false
  /// The session's beat for which the launch waits.
  public var startBeat = Double.infinity
  public var tempo = 0.0

  /// The number of MIDI messages that were lost on their way out or at the port `control`. There were too
  /// many messages at once, or earlier messages had not been read yet.
  public var lostMIDI: UInt64 = 0
  /// The number of cycles in which JACK did not call us.
  public var lostCycles: UInt64 = 0
  /// The number of cycles whose times came from our own filter because JACK's filter was still recovering
  /// from a stall.
  public var bridgedCycles: UInt64 = 0
  /// The sound card's rate against Link's clock, in parts per million of its nominal rate.
  public var driftPPM = 0.0

  /// Whether a start is held, or was released and the transport does not roll yet.
  public var isHolding = false
  /// Whether the session plays, or will play, because we told the session to.
  public var isStartOurs = false
  /// Whether we have stopped holding the start because another client does not get ready. Then JACK alone
  /// decides when the transport rolls.
  public var isGivenUp = false
  /// The microseconds by which the first frame of the last launch was heard later than the launch's beat.
  public var launchError = 0.0
  /// The number of launches that were moved to a later boundary because another client was not ready.
  public var movedLaunches: UInt64 = 0
  /// The number of starts that JACK did not hold for as long as it should (`CutStarts`). `cutFrame` is the
  /// frame from which the last such start was to roll.
  public var cutStarts: UInt64 = 0
  public var cutFrame: UInt32 = 0
  public var holdsBriefly = false
  var startsSuddenly = false
  /// Whether the transport rolls although its frame has not moved for a second.
  public var standsStill = false
  /// Whether the timebase master leads and shows bars that make no sense.
  public var isMasterSenseless = false
  /// The earliest time at which a start that a peer asked for may be heard, in microseconds on Link's clock.
  public var notBefore = -Double.infinity
  /// The microseconds that other slow clients need for a start, by our measurements.
  public var othersTake = 0.0
  /// The microseconds by which the earliest output plays before the position that JACK shows.
  public var outputsAhead = 0.0
  /// The audio thread's requests to the transport, which the control thread carries out.
  public var startStop = SessionCommand()
  public var action = LocateAction()
  /// Whether a relocation of ours came too late for its planned cycle and waits for another cycle.
  public var awaitsRelocation = false
  /// Whether the transport rolled, was sent elsewhere by us or by others, and waits until all clients are
  /// ready at the new place.
  public var isBetweenPlaces = false
  /// Whether the transport stands and we do not know if it will roll from the frame that the server shows
  /// (`FirstFrame`). A locate to that frame settles the question.
  public var isFirstFrameUnknown = false
  /// The microseconds by which a host that counts frames is behind the session; 0 while nothing rolls, or
  /// while a host leads.
  public var hostLag = 0.0
  /// The time of this cycle, and the transport's frame in it.
  public var moment = CycleStamp()
  /// The owner of the bar and beat that the transport shows in this cycle. `shown` is that bar and beat.
  public var timebase = Timebase.none
  public var shown: BBT?
  /// The tempo of another client that is timebase master, in the session's beats a minute; 0: there is no
  /// such client, or the unit of its tempo is not known yet.
  public var foreignTempo = 0.0
  /// The number of tempos that other clients asked of us as timebase master, by repositioning the transport.
  public var tempoRequests: UInt64 = 0
  /// Whether we, as timebase master, have written no position yet, or one whose tempo or bars are out of
  /// date.
  public var showsOther = true
  /// The averaged distance of the leading host's beat from the session's beat, in microseconds; positive: the
  /// host is ahead.
  public var hostPhaseError = 0.0
  /// The state of the sequencer's clock at the port `control`, while the sequencer leads.
  public var clockInState = ClockLoop.State.silent
  public var clockInTempo = 0.0
  /// Whether the leading MIDI clock is our own clock, which comes back to us.
  public var isClockInEcho = false

  /// The largest distance of a clock message from its exact time in the last ten to twenty seconds, in
  /// microseconds. `pulseJitter` is the same for pulses.
  public var clockJitter: Float = 0
  public var pulseJitter: Float = 0
  public var bars = Bars()
  /// The microseconds by which the user's bend has put our outputs ahead of the session.
  public var ahead = 0.0

  /// The lowest number of all sound banks that still sound.
  public var oldestBank: UInt32 = 0

  public init() {}
}

extension Report {
  /// Whether the transport rolls, or is on the way from one place to another.
  public var isUnderWay: Bool { isRolling || isBetweenPlaces }

  /// The session's beat that is heard at `time`, if nothing changes until then.
  func sessionBeat(at time: Double) -> Double {
    sessionBeat + (time - moment.heard.start) / moment.beatMicros
  }

  /// Whether the transport rolls or is about to roll.
  public var isMoving: Bool { isUnderWay || isWaiting || isGivenUp }

  /// The report for the time after a server has gone: nothing plays, and the counters keep their values.
  public var atRest: Report {
    var report = Report()
    report.tempo = tempo
    report.countOn(from: counts)
    return report
  }

  /// The counters that go on counting after a change of the sample rate or of the server. The number of an
  /// action is such a counter, because each number is carried out once.
  public struct Counts: BitwiseCopyable {
    public var lostMIDI: UInt64
    fileprivate let lostCycles: UInt64
    fileprivate let bridgedCycles: UInt64
    fileprivate let movedLaunches: UInt64
    fileprivate let cutStarts: UInt64
    fileprivate let tempoRequests: UInt64
    fileprivate let action: UInt32
    fileprivate let startStop: UInt32
  }

  public var counts: Counts {
    @_noLocks @_noAllocation get {
      Counts(
        lostMIDI: lostMIDI, lostCycles: lostCycles, bridgedCycles: bridgedCycles,
        movedLaunches: movedLaunches, cutStarts: cutStarts, tempoRequests: tempoRequests,
        action: action.number,
        startStop: startStop.number)
    }
  }

  @_noLocks @_noAllocation
  public mutating func countOn(from before: Counts) {
    lostMIDI &+= before.lostMIDI
    lostCycles &+= before.lostCycles
    bridgedCycles &+= before.bridgedCycles
    movedLaunches &+= before.movedLaunches
    cutStarts &+= before.cutStarts
    tempoRequests &+= before.tempoRequests
    action.number &+= before.action
    startStop.number &+= before.startStop
  }
}
