// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// When the transport starts to roll: on the session's grid, whoever pressed play.
///
/// JACK asks slow-sync clients in every Starting cycle whether they are ready; a yes in cycle m makes cycle m+1
/// the first that rolls. So the start is held until the cycle whose successor is heard nearest to the wanted
/// beat. Only Stopped -> Starting is held: a rolling transport passes through Starting on every locate and loop,
/// and those are none of our business (jack-and-peers 4.3, 4.4).
///
/// The wait is bounded, and judged anew in each cycle: a tempo, quantum or session that changes meanwhile moves
/// the target with it.
public struct Launch: BitwiseCopyable {
  public enum Stage: UInt8, Sendable, BitwiseCopyable {
    case idle
    /// The transport is held.
    case waiting
    /// We said yes; others may still hold.
    case released
  }

  /// What is true when JACK asks.
  struct Question {
    var state: Transport.State
    /// The session's beats against Link's time.
    var grid: Grid
    /// When the first frame of the next cycle is heard through the physical outputs.
    var rollsAt: Double
    /// Microseconds of a cycle.
    var period: Double
    /// The song's beat from which the transport will start.
    var songBeat: Beats
    /// A start that a peer asked for does not happen before this moment.
    var notBefore: Double?

    @_noLocks @_noAllocation
    init(
      state: Transport.State, grid: Grid, rollsAt: Double, period: Double, songBeat: Beats, notBefore: Double?
    ) {
      self.state = state
      self.grid = grid
      self.rollsAt = rollsAt
      self.period = period
      self.songBeat = songBeat
      self.notBefore = notBefore
    }
  }

  public private(set) var stage = Stage.idle
  /// The session's beat that the song's start position shall fall on.
  private(set) var target = Beats.zero
  /// The song's beat from which the transport will start.
  private(set) var songBeat = Beats.zero
  /// When the transport could have rolled if nobody had waited.
  private var askedAt = 0.0
  /// The grid that `target` was chosen from, and the one that the user wants; a shortened wait parts them.
  private var step = Beats.zero
  private var wantedStep = Beats.zero
  /// How long other slow clients have been seen to take, in microseconds: pressing play that close to the
  /// boundary means the one after it.
  private(set) var othersTake = 0.0
  private var wasStopped = false
  private var relocatingSince: Double?

  /// Launches whose wait was cut short because it had become too long.
  public private(set) var shortened: UInt64 = 0
  /// The first rolling frame's distance from the wanted moment, in microseconds; late is positive.
  public private(set) var error = 0.0
  public private(set) var count: UInt64 = 0

  private static var beat: Beats {
    @_noLocks @_noAllocation get { Beats(micros: 1_000_000) }
  }

  @_noLocks @_noAllocation
  init() {}

  /// The sync callback's answer: true lets the transport roll in the next cycle. [audio]
  @_noLocks @_noAllocation
  mutating func mayRoll(_ question: Question, _ settings: LaunchSettings, quantum: Beats) -> Bool {
    guard case .starting = question.state else { return true }
    let wanted = settings.step(quantum: quantum)
    switch stage {
    case .idle:
      guard wasStopped else { return true }
      askedAt = question.rollsAt
      aim(question, wanted: wanted, lead: othersTake)
    case .waiting, .released:
      // Asked again after a yes: somebody located meanwhile, and JACK asks anew.
      if wanted != wantedStep || question.songBeat != songBeat { aim(question, wanted: wanted, lead: 0) }
    }
    let longest =
      settings.longestWait < LaunchSettings.longestWaitAllowed
      ? settings.longestWait : LaunchSettings.longestWaitAllowed
    let limit = askedAt + Double(longest.count)
    stage = isDue(question, limit: limit) ? .released : .waiting
    return isReleased
  }

  private var isReleased: Bool {
    @_noLocks @_noAllocation get {
      if case .released = stage { true } else { false }
    }
  }

  @_noLocks @_noAllocation
  private mutating func isDue(_ question: Question, limit: Double) -> Bool {
    guard step > .zero else { return true }
    let half = question.period / 2
    // Missed, by lost cycles or because the session jumped: there is another boundary. The quarter is for cycles
    // that are not a period apart to the microsecond: one is just too early, the next must not be too late.
    let missed = half + question.period / 4
    if question.rollsAt >= question.grid.time(of: target.value) + missed { choose(question, lead: 0) }
    if question.grid.time(of: target.value) > limit, step > Self.beat {
      // The bar is too far away for a held transport; the next beat is the next best thing.
      shortened &+= 1
      step = Self.beat
      choose(question, lead: 0)
    }
    return question.rollsAt >= question.grid.time(of: target.value) - half || question.rollsAt > limit
  }

  @_noLocks @_noAllocation
  private mutating func aim(_ question: Question, wanted: Beats, lead: Double) {
    songBeat = question.songBeat
    wantedStep = wanted
    step = wanted
    choose(question, lead: lead)
  }

  /// The first boundary that can still be met; without a grid, the beat that needs no wait.
  @_noLocks @_noAllocation
  private mutating func choose(_ question: Question, lead: Double) {
    guard step > .zero else {
      target = Beats(question.grid.beat(at: question.rollsAt))
        .closestMatchingPhase(of: songBeat, quantum: Self.beat)
      return
    }
    var earliest = question.rollsAt - question.period / 2 + lead
    if let notBefore = question.notBefore, notBefore > earliest { earliest = notBefore }
    target = Beats(question.grid.beat(at: earliest)).nextMatchingPhase(of: songBeat, quantum: step)
  }

  /// A start is being held, or was let go and does not roll yet.
  var isHolding: Bool {
    @_noLocks @_noAllocation get {
      if case .idle = stage { false } else { true }
    }
  }

  /// What the transport did, once a cycle. `heard` is when frame 0 of this cycle is heard. Returns the session's
  /// beat of the song's beat 0 if the song starts in this cycle by our launch. [audio]
  @_noLocks @_noAllocation @discardableResult
  mutating func observe(_ state: Transport.State, heard: Double, period: Double, grid: Grid) -> Beats? {
    if case .stopped = state { wasStopped = true } else { wasStopped = false }
    switch state {
    case .stopped:
      stage = .idle
      relocatingSince = nil
      return nil
    case .starting:
      if case .idle = stage, relocatingSince == nil { relocatingSince = heard }
      return nil
    case .rolling:
      learn(heard: heard, period: period, grid: grid)
      if case .idle = stage { return nil }
      stage = .idle
      return target - songBeat
    }
  }

  /// How late the others were, so that the next launch allows for them.
  @_noLocks @_noAllocation
  private mutating func learn(heard: Double, period: Double, grid: Grid) {
    if let since = relocatingSince {
      // Nobody but the others held this one; two cycles are JACK's own.
      let took = heard - since - 2 * period
      othersTake = took > period ? min(took + period, 2e6) : othersTake
      relocatingSince = nil
    }
    if case .idle = stage { return }
    count &+= 1
    guard step > .zero else { return }
    error = heard - grid.time(of: target.value)
    if error > period { othersTake = min(max(othersTake, heard - askedAt + period), 2e6) }
  }
}

/// How starts are quantised.
public struct LaunchSettings: Hashable, Sendable, BitwiseCopyable {
  public enum Mode: UInt8, Sendable, BitwiseCopyable {
    /// On the session's next quantum boundary.
    case bar
    case beat
    case now
  }

  public var mode = Mode.bar
  /// A transport that waits longer looks broken; and JACK's own timeout must be longer.
  public var longestWait = Micros(30_000_000)

  public static var longestWaitAllowed: Micros {
    @_noLocks @_noAllocation get { Micros(60_000_000) }
  }

  @_noLocks @_noAllocation
  public init() {}

  @_noLocks @_noAllocation
  public static func == (left: LaunchSettings, right: LaunchSettings) -> Bool {
    left.mode == right.mode && left.longestWait == right.longestWait
  }

  @_noLocks @_noAllocation
  func step(quantum: Beats) -> Beats {
    switch mode {
    case .bar: quantum
    case .beat: Beats(micros: 1_000_000)
    case .now: .zero
    }
  }
}
