// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath
public import TactusChoices

/// The control thread's plan for JACK's transport: what waits for its time, and what JACK was asked for and
/// has not shown yet. Pure: commands, reports and the time go in, requests to JACK come out. [control]
///
/// JACK shows a request one or two cycles later, or never. If it has not shown one after
/// `TransportLimits.answerTimeout`, the plan goes by what JACK shows. JACK remembers only one request to
/// start or stop, so a start that follows a stop in the same cycle would replace it: commands wait behind a
/// stop. The transitions:
///
/// | stage | what happens | next | actions |
/// | --- | --- | --- | --- |
/// | idle | play, and the transport stands | asked to start | limit, play |
/// | idle | play, and the transport shall stand until just before the beat | standing | limit |
/// | idle | play, and it rolls | asked to start | play |
/// | idle | stop | asked to stop | stop |
/// | idle | stop on the bar, and it rolls | stopping | |
/// | idle | locate | idle | locate |
/// | idle | jump, and it rolls | locating | |
/// | idle | jump, and it stands | idle | locate |
/// | idle | a host lags for half a second | correcting | |
/// | idle | another machine's line, and it rolls | following | |
/// | idle | tactus leaves | idle | |
/// | idle | tactus leaves while it holds a start | idle | stop |
/// | correcting | the bar is near | idle | relocate |
/// | correcting | it stops | idle | |
/// | following | the beat is near | idle | relocate |
/// | following | a JACK client locates | idle | |
/// | following | jump | locating | |
/// | following | it stops | idle | |
/// | locating | another machine's line | following | |
/// | locating | the beat is near | idle | relocate |
/// | locating | play | locating | |
/// | locating | stop | asked to stop | stop |
/// | locating | stop on the bar | stopping | |
/// | locating | it stops | idle | locate |
/// | stopping | the bar is near | asked to stop | stop |
/// | stopping | jump | stopping | |
/// | stopping | play | idle | play |
/// | stopping | stop on the bar again | asked to stop | stop |
/// | stopping | it stops | idle | |
/// | standing | the beat is near | asked to start | play |
/// | standing | a start shall not stand any more | asked to start | play |
/// | standing | locate | standing | locate |
/// | standing | stop | asked to stop | stop |
/// | standing | it starts | idle | |
/// | asked to start | it starts | idle | |
/// | asked to start | nothing within the limit | idle | |
/// | asked to start | stop | asked to stop | stop |
/// | asked to start | play | asked to start | limit, play |
/// | asked to stop | locate | asked to stop | |
/// | asked to stop | it stops | idle | |
/// | asked to stop | it stops, and a locate has waited | idle | locate |
/// | asked to stop | it stops, and a stop goes back | idle | locate |
/// | asked to stop | it stops, and a start has waited | asked to start | limit, play |
/// | asked to stop | nothing within the limit | idle | |
public struct TransportPlan: Sendable {
  public enum Event: Sendable {
    case command(TransportCommand)
    /// The session's last start or stop; each number is obeyed once.
    case session(SessionCommand)
    /// The control thread looks at the last report.
    case observe
    /// The time of a request may have come. Read the clock just before: a request that comes late is worse
    /// than none.
    case tick
    /// tactus leaves the server. JACK would let a start roll that only tactus holds.
    case leave
  }

  /// The last cycle's report, with the time on Link's clock at which it was read.
  public struct Observation: Sendable {
    let report: Report
    let time: Micros
    let server: TransportServer

    public init(_ report: Report, at time: Micros, on server: TransportServer) {
      (self.report, self.time, self.server) = (report, time, server)
    }
  }

  public typealias Ask = (TransportAction) -> Void

  enum Stage: Sendable {
    case idle
    /// A host is corrected at the song's beat `bar`.
    case correcting(bar: Double)
    case locating(Destination, at: BeatTarget)
    /// The song goes to another machine's line. `from`: the session's beat of the song's beginning until
    /// then.
    case following(SharedLine, from: Double, at: BeatTarget)
    /// A stop waits for the session's beat `on`, which is known once the transport rolls. After the stop, the
    /// transport goes to `then`.
    case stopping(onBar: Bool, on: Double?, then: Destination?)
    case standing(DeferredStart)
    case asked(Request)
  }

  /// The target of a locate, and the session's grid on which the locate lands.
  struct Destination: Sendable {
    let place: SongPlace
    let step: Double

    func appointment(_ now: Report) -> BeatTarget { BeatTarget(now, place, step: step) }
  }

  /// The line of `TransportCommand.follow`.
  struct SharedLine: Equatable, Sendable {
    let beat: Double
    let sessionBeat: Double
  }

  /// A start or stop that JACK was asked for.
  struct Request: Sendable {
    let starts: Bool
    /// The session's beat of the start, if tactus has chosen it.
    var beat: Double?
    let time: Micros
    /// Whether the transport seemed to be in the requested state already, so that only a later cycle is an
    /// answer.
    let isShown: Bool
    /// Whether other commands wait until JACK has answered this request.
    var holdsBack = false

    func isAnswered(by now: Report) -> Bool {
      guard now.isMoving == starts else { return false }
      return !isShown || now.moment.due > Double(time.count) + now.moment.cycleMicros
    }
  }

  /// The user's choices: among them whether and above which lag a host is corrected.
  public var choices = Settings()
  /// The length of the session's beat in microseconds. The reports show a tempo that comes with a start a
  /// cycle late.
  public var beatMicros = 0.0
  /// The proposals to the session of a start that waits while the transport stands.
  public var announcement = StartAnnouncement()

  var stage = Stage.idle
  /// A relocation that JACK carries out; the next plan may wait meanwhile.
  var landing: RelocationRetry?
  var correction = HostCorrection()
  /// Locates and corrections that stayed late, because other clients needed too long.
  public internal(set) var leftLate: UInt64 = 0
  /// The heard time at which the transport last stood during a locate.
  var stoodAt = -1e18
  var repair = TransportRepair()
  var renewal = HoldRenewal()
  /// JACK's limit as last asked for; nil: the usual limit.
  var lastLimit: Micros?
  /// The frames of a cycle in the last report.
  var lastFrames: UInt32 = 0
  var held = HeldCommands()
  /// The number of the session's last start or stop that was obeyed.
  var obeyed: UInt32 = 0
  /// The number of the audio thread's last action, and the time of the cycle in whose report we saw it first.
  var action: (number: UInt32, due: Double) = (0, 0)

  public init() {}

  /// Calls `ask` for each action, in their order.
  public mutating func next(_ event: Event, _ now: Observation, _ ask: Ask) {
    switch event {
    case .command(let command): obey(command, now, ask)
    case .session(let command): obey(command, now, ask)
    case .observe: observe(now, ask)
    case .tick: act(now, ask)
    case .leave:
      forget()
      if now.report.launch.isHolding { ask(.stop) }
    }
  }

  /// Forgets everything planned for a server that is gone or silent: it is not meant for the next.
  public mutating func forget() {
    cancel()
    held = HeldCommands()
    repair = TransportRepair()
  }

  /// Skips a start or stop of the session, because no server runs.
  public mutating func ignore(_ session: SessionCommand) { obeyed = session.number }

  mutating func cancel() { (stage, landing) = (.idle, nil) }
}

// MARK: the state, for the rest of the program

extension TransportPlan {
  /// The caller has to look every two milliseconds.
  public var isBusy: Bool { if case .idle = stage, landing == nil { false } else { true } }

  public var isStopping: Bool { if case .stopping = stage { true } else { false } }

  /// Another machine's line waits for its beat.
  var isFollowing: Bool { if case .following = stage { true } else { false } }

  /// JACK was asked to stop, and commands wait for that.
  public var isAskedToStop: Bool { if case .asked(let request) = stage { request.holdsBack } else { false } }

  /// Corrections requested until now.
  public var corrections: UInt64 { correction.count }

  /// The session's beat of a start whose transport stands until just before it; nil: there is none.
  public var startBeat: Double? {
    switch stage {
    case .standing(let start): start.beat
    case .asked(let request): request.beat
    case .idle, .correcting, .locating, .following, .stopping: nil
    }
  }

  /// The transport moves, or is about to. A request counts before JACK shows it, so two toggles in a row are
  /// two.
  public func moves(_ now: Report) -> Bool {
    for place in held.places.reversed() {
      switch held[place] {
      case .play: return true
      case .stop, .stopOn: return false
      case .locate, .jump, .goBack, .follow: break
      }
    }
    switch stage {
    case .asked(let request): return request.starts
    case .standing: return true
    case .idle, .correcting, .locating, .following, .stopping: return now.isMoving
    }
  }

  /// The target of a locate that waits.
  var destination: Destination? {
    switch stage {
    case .locating(let there, _): there
    case .stopping(_, _, let there): there
    case .idle, .correcting, .following, .standing, .asked: nil
    }
  }

  /// A locate of the rolling transport waits for its time, or for JACK. A locate after a stop does not count.
  var isLocating: Bool {
    switch stage {
    case .locating, .following: true
    case .stopping: false
    case .idle, .correcting, .standing, .asked: landing != nil
    }
  }
}
