// SPDX-License-Identifier: GPL-2.0-or-later
public import TactusChoices

/// The report of one cycle: small, of fixed size, for a queue or a published value. Counters only grow.
public struct Report: Sendable, BitwiseCopyable {
  /// The session's beat that is heard through the physical outputs at frame 0 of this cycle.
  public var sessionBeat = 0.0
  /// The song's beat, from 0 at its start; negative before it. While nothing rolls, the place of the
  /// transport.
  public var songBeat = 0.0
  public var isRolling = false
  /// A launch waits for its beat.
  public var isWaiting = false
  /// The session's beat for which the launch waits.
  public var startBeat = Double.infinity
  public var tempo = 0.0

  /// MIDI messages lost on their way out or at `control`: there were too many at once, or earlier ones had
  /// not been read.
  public var lostMIDI: UInt64 = 0
  /// Cycles in which JACK did not call us.
  public var lostCycles: UInt64 = 0
  /// Cycles timed by our own filter because JACK's was still recovering from a stall.
  public var bridgedCycles: UInt64 = 0
  /// The sound card's rate against Link's clock, in parts per million of its nominal rate.
  public var driftPPM = 0.0

  /// A start is held, or was released and does not roll yet.
  public var isHolding = false
  /// The start is not held any more, because another client does not get ready: JACK alone decides when it
  /// rolls.
  public var isGivenUp = false
  /// The distance of the last launch's first rolling frame from its beat, in microseconds; late is positive.
  public var launchError = 0.0
  /// Launches that were moved to a later boundary because another client was not ready.
  public var movedLaunches: UInt64 = 0
  /// Starts that JACK did not hold for as long as it should, and the frame from which the last of them was to
  /// start (`CutStarts`).
  public var cutStarts: UInt64 = 0
  public var cutFrame: UInt32 = 0
  public var holdsBriefly = false
  var startsSuddenly = false
  /// The transport rolls and its frame has not moved for a second.
  public var standsStill = false
  /// The timebase master leads, and shows bars that make no sense.
  public var isMasterSenseless = false
  /// The earliest time for a peer's start, as heard.
  public var notBefore = -Double.infinity
  /// Microseconds that other slow clients need for a start, as far as we have seen.
  public var othersTake = 0.0
  /// Microseconds by which the earliest output plays before JACK's position.
  public var outputsAhead = 0.0
  /// Requests to the transport, for the control thread.
  public var startStop = StartStopWish()
  public var wish = TransportWish()
  /// A relocation of ours came too late for its cycle, and waits for another.
  public var awaitsRelocation = false
  /// The transport rolled and was sent elsewhere, by us or by others; the clients are getting ready there.
  public var isBetweenPlaces = false
  /// The transport stands, and the server has not shown whether it will roll from there (`FirstFrame`). A
  /// locate to the same place settles it.
  public var isFirstFrameUnknown = false
  /// Microseconds by which a host that counts frames is behind the session; 0 while nothing rolls or a host
  /// leads.
  public var hostLag = 0.0
  /// The time and place of this cycle.
  public var moment = CycleStamp()
  /// The owner of the bar and beat that the transport shows in this cycle, and that position.
  public var timebase = Timebase.none
  public var shown: BBT?
  /// The tempo of another client that is timebase master, in the session's beats a minute; 0: there is none,
  /// or its unit is not known yet.
  public var foreignTempo = 0.0
  /// Tempos that other clients asked of us as timebase master, by repositioning.
  public var tempoRequests: UInt64 = 0
  /// As timebase master we have written nothing yet, or another tempo or other bars than the song has now.
  public var showsOther = true
  /// The leading host's beat minus the session's, averaged, in microseconds.
  public var hostPhaseError = 0.0
  /// The state of the sequencer's clock at `control`, while it leads.
  public var clockInState = ClockLoop.State.silent
  public var clockInTempo = 0.0
  /// The leading clock is our own, which comes back.
  public var isClockInEcho = false

  /// The largest distance of a clock and of a pulse from its place in the last ten to twenty seconds, in
  /// microseconds.
  public var clockJitter: Float = 0
  public var pulseJitter: Float = 0
  public var bars = Bars()
  /// Microseconds by which our outputs are ahead of the session, set by hand.
  public var ahead = 0.0

  /// The lowest number of a sound bank that still sounds.
  public var oldestBank: UInt32 = 0

  public init() {}
}

extension Report {
  /// Rolling, or on the way from one place to another.
  public var isUnderWay: Bool { isRolling || isBetweenPlaces }

  /// The session's beat at `time`, as heard, if nothing changes until then.
  func sessionBeat(at time: Double) -> Double {
    sessionBeat + (time - moment.heard.start) / moment.beatMicros
  }

  /// Rolling, or about to.
  public var isMoving: Bool { isUnderWay || isWaiting || isGivenUp }

  /// The report after a server has gone: nothing plays, and the counters stay.
  public var atRest: Report {
    var report = Report()
    report.tempo = tempo
    report.countOn(from: counts)
    return report
  }

  /// Counters that continue with another sample rate or another server. The number of a wish is one of them:
  /// each number is fulfilled once.
  public struct Counts: BitwiseCopyable {
    public var lostMIDI: UInt64
    fileprivate let lostCycles: UInt64
    fileprivate let bridgedCycles: UInt64
    fileprivate let movedLaunches: UInt64
    fileprivate let cutStarts: UInt64
    fileprivate let tempoRequests: UInt64
    fileprivate let wish: UInt32
    fileprivate let startStop: UInt32
  }

  public var counts: Counts {
    @_noLocks @_noAllocation get {
      Counts(
        lostMIDI: lostMIDI, lostCycles: lostCycles, bridgedCycles: bridgedCycles,
        movedLaunches: movedLaunches, cutStarts: cutStarts, tempoRequests: tempoRequests, wish: wish.number,
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
    wish.number &+= before.wish
    startStop.number &+= before.startStop
  }
}
