// SPDX-License-Identifier: GPL-2.0-or-later
public import Choices

/// What one cycle has to tell: small, fixed, for a queue or a published value. Counters only grow.
public struct Report: Sendable, BitwiseCopyable {
  /// The session's beat that is heard through the physical outputs at frame 0 of this cycle.
  public var sessionBeat = 0.0
  /// Counts from 0 at the song's start; negative before it. While nothing rolls, where the transport stands.
  public var songBeat = 0.0
  public var isRolling = false
  /// A launch waits for its beat.
  public var isWaiting = false
  /// The session's beat of the launch that waits.
  public var startBeat = Double.infinity
  public var tempo = 0.0

  /// MIDI messages that were lost on their way out or at `control`: too many at once, or nobody took the earlier ones.
  public var lostMIDI: UInt64 = 0
  /// Cycles that passed without us.
  public var lostCycles: UInt64 = 0
  /// Cycles timed by our own filter because JACK's was still recovering from a stall.
  public var bridgedCycles: UInt64 = 0
  /// Sound card's rate against Link's clock, in parts per million of its nominal rate.
  public var driftPPM = 0.0

  /// A start is held, or was let go and does not roll yet.
  public var isHolding = false
  /// It is not held any more, since another client does not get ready: JACK alone says when it rolls.
  public var isGivenUp = false
  /// The first rolling frame of the last launch against its beat, in microseconds; late is positive.
  public var launchError = 0.0
  /// Launches that were moved to a later boundary because another client was not ready.
  public var movedLaunches: UInt64 = 0
  /// Starts that JACK did not hold for as long as it was asked to, and where the last of them was to start; `CutStarts`.
  public var cutStarts: UInt64 = 0
  public var cutFrame: UInt32 = 0
  public var holdsBriefly = false
  var startsSuddenly = false
  /// The transport rolls and its frame has not moved for a second.
  public var standsStill = false
  /// The timebase master that leads shows bars that make no sense.
  public var isMasterSenseless = false
  /// A peer's start does not happen before this moment, as heard.
  public var notBefore = -Double.infinity
  /// How long other slow clients have been seen to take for a start, in microseconds.
  public var othersTake = 0.0
  /// How much earlier than JACK's position the first of all outputs plays, in microseconds.
  public var outputsAhead = 0.0
  /// What the control thread shall ask of the transport.
  public var startStop = StartStopWish()
  public var wish = TransportWish()
  /// A relocation of ours came too late for its cycle, and waits for another.
  public var awaitsRelocation = false
  /// It rolled, and was sent elsewhere by whomever: everybody gets ready there.
  public var isBetweenPlaces = false
  /// The transport stands, and the server has not shown whether it will roll from there (`FirstFrame`). A locate to the same place
  /// settles it.
  public var isFirstFrameUnknown = false
  /// How far a host that counts frames is behind the session, in microseconds; 0 while nothing rolls or a host leads.
  public var hostLag = 0.0
  /// When and where this cycle is.
  public var moment = Moment()
  /// What the transport shows as bar and beat in this cycle.
  public var timebase = Timebase.none
  public var shown: BBT?
  /// Of another client that is timebase master, in the session's beats a minute; 0: none is, or what its tempo counts is not known yet.
  public var foreignTempo = 0.0
  /// Tempos that other clients asked of us as timebase master, by repositioning.
  public var tempoRequests: UInt64 = 0
  /// What we wrote last as timebase master is of another tempo or of other bars than the song's are now, or nothing yet.
  public var showsOther = true
  /// The leading host less the session, averaged, in microseconds.
  public var hostPhaseError = 0.0
  /// The sequencer's clock at `control`, while it leads.
  public var clockInState = ClockLoop.State.silent
  public var clockInTempo = 0.0
  /// It is our own, which comes back.
  public var isClockInEcho = false

  /// The largest distance of a clock and of a pulse from its place, of the last ten to twenty seconds, in microseconds.
  public var clockJitter: Float = 0
  public var pulseJitter: Float = 0
  /// Where the song's bars are.
  public var bars = Bars()
  /// How far our outputs are ahead of the session, by hand, in microseconds.
  public var ahead = 0.0

  /// The lowest number of a sound bank that still sounds.
  public var oldestBank: UInt32 = 0

  public init() {}
}

extension Report {
  /// Rolling, or on the way from one place to another.
  public var isUnderWay: Bool { isRolling || isBetweenPlaces }

  /// At a moment as heard, if nothing changes until then.
  func sessionBeat(at time: Double) -> Double {
    sessionBeat + (time - moment.heard.start) / moment.beatMicros
  }

  /// Rolling, or about to.
  public var isMoving: Bool { isUnderWay || isWaiting || isGivenUp }

  /// Nothing is heard any more: what was counted stays.
  public var atRest: Report {
    var report = Report()
    report.tempo = tempo
    report.countOn(from: counts)
    return report
  }

  /// What goes on counting with another sample rate, or another server: the counters, and a wish's numbers, each of which is
  /// fulfilled once.
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
