// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

/// Carries a leading host's tempo and beat into the session. The host is another JACK client that is timebase
/// master. We read in every cycle the position that it shows, and propose the changes that bring the session
/// to its tempo and beat.
///
/// Three rules keep the proposals few. We propose a tempo only when the host changes its tempo, and never the
/// tempo that we or a peer have put into the session. We ignore a distance of the beats below half a
/// millisecond. A correction is two proposals: one of a slightly different tempo, which removes the distance
/// in a known time, and then one of the host's tempo. However fast a host changes its tempo, at most twenty
/// proposals a second go out.
///
/// A larger distance is not corrected by tempo. If we are alone in the session, or if the user has declared
/// the host to be the clock, the session's grid is moved. Otherwise only the next start brings the host into
/// phase (`Launch`), and until then the distance is shown.
struct HostFollower: BitwiseCopyable {
  /// The least time between two proposals, in microseconds.
  static let shortestPause: Double = 50_000
  /// The smallest change of tempo, in beats per minute. A smaller change is noise.
  static let smallestStep: Double = 0.0005
  /// The distance of the beats, in microseconds, below which it is ignored; `mostTolerated` is this limit if
  /// the host's ticks are coarse. If a proposal of a tempo is due anyway, it also corrects a distance above
  /// `negligible` microseconds.
  static let tolerated: Double = 500
  static let mostTolerated: Double = 900
  static let negligible: Double = 60
  /// The largest distance in microseconds that is corrected by a change of tempo. A larger distance is
  /// corrected by moving the grid, if that is allowed.
  static let largestNudge: Double = 5_000
  /// The duration of a correction in microseconds. A large correction takes longer, so that the tempo is off
  /// by no more than the share `steepestNudge`.
  static let correctionTime: Double = 1e6
  static let steepestNudge: Double = 0.0025
  /// The time in microseconds in which the next proposal of a tempo removes a distance that a ramp has
  /// caused. In a ramp, each proposed tempo is a little old when it arrives, so the session's beat departs
  /// from the host's. The distance must be at most `largestInRamp` microseconds.
  static let rampTime: Double = 500_000
  static let largestInRamp: Double = 20_000
  /// The distance in microseconds above which the result of a correction is corrected once more, up to
  /// `mostRounds` times. The measurement before a correction is worse than those after it.
  static let rest: Double = 150
  static let mostRounds: Int = 3
  /// The wait, in microseconds, after `mostRounds` corrections in a row that were in vain: the measurement
  /// must be wrong.
  static let pauseAfterVain: Double = 2e6
  /// The microseconds for which the host's beat must be averaged before the grid may be moved to it.
  static let firstLook: Double = 20_000
  /// The share by which the session's tempo must differ from the host's to count as a peer's choice. Such a
  /// tempo of the session stays.
  static let peersChoice: Double = 0.01

  /// The microseconds after which a host that shows nothing counts as gone.
  static let moment: Double = 2e6

  /// The smoothed distance of the host's beat from the session's beat, in microseconds; positive: the host is
  /// ahead.
  private(set) var phaseError = 0.0
  /// Whether a correction is under way, so that the session's tempo differs from the host's.
  var isCorrecting: Bool { correctedBy != nil }

  private var line: HostLine
  private var owesTempo = false
  /// The time at which the present correction will have removed the distance; nil: no correction is under
  /// way.
  private var correctedBy: Double?
  private var rounds = 0
  private var nextNudge = -1e18
  private var lastProposal = -1e18
  private var lastForce = -1e18
  private var wasConnected = false
  private var goneSince: Double?

  /// `jitter`: the largest error, in microseconds, of the positions that a good host shows.
  init(jitter: Double = HostLine.jitter) { line = HostLine(jitter: jitter) }

  /// Follows the timebase master, if the master leads. [audio]
  mutating func follow(_ now: borrowing CycleContext, master: LeaderReading, leads: Bool) -> Proposal? {
    var reading = master
    if !leads { reading.shown = .nothing }
    return now.isFreewheeling ? pause(now, reading) : follow(now, reading)
  }

  mutating func follow(_ now: borrowing CycleContext, _ reading: LeaderReading) -> Proposal? {
    proposal(examine(now, reading), reading)
  }

  private mutating func proposal(_ change: Proposal.Change?, _ reading: LeaderReading) -> Proposal? {
    guard let change else { return nil }
    lastProposal = reading.heard
    return Proposal(change, at: Micros(rounding: reading.heard), isDictated: true)
  }

  /// Begins a new line through the host's beats, because the host is known to have jumped. Otherwise the jump
  /// would enter the average and be taken for the drift of the host's crystal.
  mutating func hostJumped() { line.rest() }

  private mutating func examine(_ now: borrowing CycleContext, _ reading: LeaderReading) -> Proposal.Change? {
    let (shownTempo, beat, ticksPerBeat): (Double, Double, Double)
    switch reading.shown {
    case .nothing: return leave(now, reading)
    case .nonsense:
      goneSince = nil
      return nil
    case .beat(let shown, let tempo, let ticks): (shownTempo, beat, ticksPerBeat) = (tempo, shown, ticks)
    }
    goneSince = nil
    let factor = Self.factor(for: shownTempo)
    // A peer that joins a session takes that session's tempo (TEMPO-2). So the host's tempo does not count
    // until the host changes it.
    if now.session.isConnected && !wasConnected { owesTempo = false }
    wasConnected = now.session.isConnected
    if line.readTempo(shownTempo * factor) { owesTempo = true }
    if reading.isRolling, line.tempo > 0 {
      line.follow(
        beat * factor, ticksPerBeat: ticksPerBeat * factor, at: reading.heard, isSound: now.isSound)
      let away = Self.wrapped(line.beat - now.grid.beat(at: reading.heard), around: now.settings.quantum)
      phaseError = away * now.grid.beatMicros
    } else {
      line.rest()
    }
    return decide(now, reading)
  }

  /// Ends a correction that is under way; otherwise the session would keep the correction's tempo. Call this
  /// in every cycle in which the host's position cannot be read: the host is gone, it shows nothing for a
  /// moment (at a locate while it stands), or the server freewheels.
  mutating func pause(_ now: borrowing CycleContext, _ reading: LeaderReading) -> Proposal? {
    proposal(rest(now, reading), reading)
  }

  private mutating func rest(_ now: borrowing CycleContext, _ reading: LeaderReading) -> Proposal.Change? {
    let change = isCorrecting ? tempo(toCorrect: 0, within: 1, now, reading) : nil
    line.rest()
    return change
  }

  /// Handles the absence of the host. A host that comes back within `moment` has not changed its tempo. A
  /// host that comes back later counts as another host.
  private mutating func leave(_ now: borrowing CycleContext, _ reading: LeaderReading) -> Proposal.Change? {
    let since = goneSince ?? reading.heard
    goneSince = since
    if reading.heard - since > Self.moment {
      line.forget()
      owesTempo = false
    }
    return rest(now, reading)
  }

  /// The factor that brings a host's tempo into Link's range, 20...999: a power of two (TEMPO-4).
  static func factor(for beatsPerMinute: Double) -> Double {
    var factor = 1.0
    while beatsPerMinute * factor < Tempo.lowest && factor < 1024 { factor *= 2 }
    while beatsPerMinute * factor > Tempo.highest && factor > 1.0 / 64 { factor /= 2 }
    return factor
  }

  /// Wraps `beats` into the range from half a quantum below 0 to half a quantum above 0. Without a quantum,
  /// the range is half a beat below and above 0.
  private static func wrapped(_ beats: Double, around quantum: Double) -> Double {
    let length = quantum > 0 ? quantum : 1
    let remainder = beats - length * Double(Int64(flooring: beats / length))
    return remainder >= length / 2 ? remainder - length : remainder
  }

  private mutating func decide(_ now: borrowing CycleContext, _ reading: LeaderReading) -> Proposal.Change? {
    guard reading.heard - lastProposal >= Self.shortestPause else { return nil }
    let size = abs(phaseError)
    if owesTempo {
      owesTempo = false
      rounds = 0
      let takesAlong =
        reading.isRolling && line.averaged > Self.firstLook && size > Self.negligible
        && size <= Self.largestInRamp
      return tempo(toCorrect: takesAlong ? phaseError : 0, within: Self.rampTime, now, reading)
    }
    guard reading.isRolling else { return isCorrecting ? tempo(toCorrect: 0, within: 1, now, reading) : nil }
    if now.mayForce, line.averaged > Self.firstLook, size > Self.largestNudge,
      reading.heard - lastForce > 500_000
    {
      lastForce = reading.heard
      correctedBy = nil
      // The session's tempo may contain a correction that was not ended, or be a peer's choice.
      owesTempo = abs(60e6 / now.grid.beatMicros - line.pace) >= Self.smallestStep
      return .forceBeat(line.beat, quantum: now.settings.quantum)
    }
    return nudge(now, reading, size)
  }

  /// The distance between the host's beat and the session's that is ignored, in microseconds. A host with
  /// coarse ticks seems to move to and fro although it runs evenly.
  private var tolerance: Double { min(max(Self.tolerated, 1.25 * line.tick), Self.mostTolerated) }

  /// Removes a small distance between the beats by a slightly different tempo for some time.
  private mutating func nudge(_ now: borrowing CycleContext, _ reading: LeaderReading, _ size: Double)
    -> Proposal
    .Change?
  {
    let canCorrect = line.isMeasured && size <= Self.largestNudge
    let time = max(Self.correctionTime, size / Self.steepestNudge)
    if let correctedBy {
      guard reading.heard >= correctedBy else { return nil }
      rounds += 1
      let leaves = canCorrect && rounds < Self.mostRounds && size > max(Self.rest, line.tick / 4)
      if !leaves, size > tolerance { nextNudge = reading.heard + Self.pauseAfterVain }
      return tempo(toCorrect: leaves ? phaseError : 0, within: time, now, reading)
    }
    let isPeersChoice = abs(60e6 / now.grid.beatMicros - line.tempo) > Self.peersChoice * line.tempo
    guard canCorrect, !isPeersChoice, size > tolerance, reading.heard >= nextNudge else { return nil }
    rounds = 0
    return tempo(toCorrect: phaseError, within: time, now, reading)
  }

  /// A change to the host's tempo, or to a tempo that differs enough to remove `distance` within `time` (both
  /// in microseconds); nil: the session has the wanted tempo already.
  private mutating func tempo(
    toCorrect distance: Double, within time: Double, _ now: borrowing CycleContext, _ reading: LeaderReading
  ) -> Proposal.Change? {
    correctedBy = distance == 0 ? nil : reading.heard + time
    let wanted = line.pace + line.tempo * distance / time
    return abs(wanted - 60e6 / now.grid.beatMicros) < Self.smallestStep ? nil : .tempo(wanted)
  }
}
