// SPDX-License-Identifier: GPL-2.0-or-later
public import TactusChoices

/// The report of one cycle. It is small and has a fixed size, so that it fits a queue or a published value.
/// Its counters only grow.
///
/// The struct has more than 20 properties: the parts that other types fill, and the values that `HostSync`
/// itself knows.
public struct Report: Sendable, BitwiseCopyable {
  /// The session's beat that is heard through the physical outputs at frame 0 of this cycle.
  public var sessionBeat = 0.0
  public var tempo = 0.0
  public var bars = Bars()
  /// The microseconds by which the user's bend has put our outputs ahead of the session.
  public var ahead = 0.0
  /// The time of this cycle, and the transport's frame in it.
  public var moment = CycleStamp()

  public var song = SongReport()
  public var launch = LaunchReport()
  public var master = MasterReport()
  public var clockIn = ClockInReport()
  public var times = TimesReport()
  public var outputs = OutputReport()

  /// The session's start or stop that the control thread must carry out at the transport.
  public var startStop = SessionCommand()
  /// Whether the session plays, or will play, because tactus started it.
  public var isStartOurs = false
  /// The state of `StartStop`, for the `HostSync` after this one.
  var startStopState = StartStop()
  /// The number of tempos that other clients have asked of us as timebase master, by repositioning the
  /// transport.
  public var tempoRequests: UInt64 = 0
  /// The averaged distance of the leading host's beat from the session's beat, in microseconds; positive: the
  /// host is ahead.
  public var hostPhaseError = 0.0

  /// Whether the transport rolls although its frame has not moved for a second.
  public var standsStill = false
  /// Whether a relocation (a locate at a planned time) came too late for its planned cycle, so that the
  /// transport waits for another locate.
  public var awaitsRelocation = false
  /// Whether the transport rolled, was located by us or by others, and waits until all clients are ready at
  /// the new place.
  public var isBetweenPlaces = false
  /// Whether the transport stands and we do not know if it will roll from the frame that the server shows
  /// (`FirstFrame`). After a locate to that frame we know it.
  public var isFirstFrameUnknown = false
  /// The earliest time at which a start that a peer asked for may be heard, in microseconds on Link's clock.
  public var notBefore = -Double.infinity
  /// The microseconds by which the earliest output plays before the position that JACK shows.
  public var outputsAhead = 0.0

  public init() {}
}

extension Report {
  /// Whether the transport rolls, or is on the way from one place to another.
  public var isUnderWay: Bool { song.isRolling || isBetweenPlaces }

  /// The session's beat that is heard at `time`, if nothing changes until then.
  func sessionBeat(at time: Double) -> Double {
    sessionBeat + (time - moment.heard.start) / moment.beatMicros
  }

  /// The session's beat at which the rolling song began: a whole number of 32nds (`Song`).
  var songOrigin: Double {
    ThirtySeconds.beats(ThirtySeconds.nearest(to: sessionBeat - song.beat, grain: 1))
  }

  /// Whether the transport rolls or is about to roll.
  public var isMoving: Bool { isUnderWay || song.isWaiting || launch.isGivenUp }

  /// The report for the time after a server has gone: nothing plays, and the counters keep their values.
  public var atRest: Report {
    var report = Report()
    report.tempo = tempo
    report.countOn(from: counts)
    return report
  }

  /// The counters that go on after a change of the sample rate or of the server. The number of a locate
  /// action is such a counter, because each number is carried out once.
  public struct Counts: BitwiseCopyable {
    public var lostMIDI: UInt64
    fileprivate let lostCycles: UInt64
    fileprivate let bridgedCycles: UInt64
    fileprivate let movedLaunches: UInt64
    fileprivate let cutStarts: UInt64
    fileprivate let tempoRequests: UInt64
    fileprivate let run: UInt64
    fileprivate let action: UInt32
    fileprivate let startStop: UInt32
  }

  public var counts: Counts {
    @_noLocks @_noAllocation get {
      Counts(
        lostMIDI: outputs.lostMIDI, lostCycles: times.lostCycles, bridgedCycles: times.bridgedCycles,
        movedLaunches: launch.moved, cutStarts: launch.cutStarts, tempoRequests: tempoRequests, run: song.run,
        action: launch.action.number,
        startStop: startStop.number)
    }
  }

  @_noLocks @_noAllocation
  public mutating func countOn(from before: Counts) {
    outputs.lostMIDI &+= before.lostMIDI
    times.lostCycles &+= before.lostCycles
    times.bridgedCycles &+= before.bridgedCycles
    launch.moved &+= before.movedLaunches
    launch.cutStarts &+= before.cutStarts
    tempoRequests &+= before.tempoRequests
    song.run &+= before.run
    launch.action.number &+= before.action
    startStop.number &+= before.startStop
  }
}
