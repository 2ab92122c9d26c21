// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import TactusChoices

/// Carries a leading host's tempo and beat into the session. Another client is timebase master; we read what
/// it shows in every cycle, and propose what brings the session to it.
///
/// Three rules keep it quiet. A tempo is news only when the host changes it: a tempo that we or a peer put
/// into the session is never sent back. A distance below half a millisecond is ignored. A correction is two
/// proposals: a tempo a little off, which removes the distance in a known time, and then the host's tempo
/// again. However fast a host ramps, at most twenty proposals a second go out.
///
/// A larger distance is not corrected by tempo. If we are alone in the session, or if the user says "I am the
/// clock", the session's grid is moved. Otherwise the host is launched in phase (`Launch`) and the distance
/// is only shown.
struct HostFollower: BitwiseCopyable {
  /// Microseconds between two proposals.
  static let shortestPause: Double = 50_000
  /// Smaller changes of tempo are noise (beats per minute).
  static let smallestStep: Double = 0.0005
  /// Microseconds. Smaller distances are ignored: below `tolerated`, or up to `mostTolerated` if ticks are
  /// coarse. A tempo that is due anyway also corrects distances above `negligible`.
  static let tolerated: Double = 500
  static let mostTolerated: Double = 900
  static let negligible: Double = 60
  /// Microseconds. A larger distance is corrected by moving the grid, if that is allowed.
  static let largestNudge: Double = 5_000
  /// Microseconds of a correction; a large one takes longer, so that the tempo is off by no more than the
  /// share `steepestNudge`.
  static let correctionTime: Double = 1e6
  static let steepestNudge: Double = 0.0025
  /// In a ramp each tempo is a little old when it arrives. The next tempo makes up in `rampTime` for the
  /// distance so far, up to `largestInRamp`.
  static let rampTime: Double = 500_000
  static let largestInRamp: Double = 20_000
  /// A distance above `rest` that a correction left may be corrected again, up to `mostRounds` times: its
  /// first measurement was worse than the later ones.
  static let rest: Double = 150
  static let mostRounds: Int = 3
  /// Microseconds until the next try if these were in vain: the measurement is not what it seems.
  static let pauseAfterVain: Double = 2e6
  /// Microseconds of averaging that are enough to move the grid.
  static let firstLook: Double = 20_000
  /// Share of the host's tempo. If the session's tempo differs by more, a peer has chosen it, so it stays.
  static let peersChoice: Double = 0.01

  /// Microseconds. A host that shows nothing for longer is gone.
  static let moment: Double = 2e6

  /// The host's beat minus the session's, smoothed, in microseconds: positive when the host is ahead.
  private(set) var phaseError = 0.0
  /// A correction is under way: the session's tempo differs from the host's.
  var isCorrecting: Bool { correctedBy != nil }

  private var line: HostLine
  private var owesTempo = false
  /// When the present correction will have removed the distance.
  private var correctedBy: Double?
  private var rounds = 0
  private var nextNudge = -1e18
  private var lastProposal = -1e18
  private var lastForce = -1e18
  private var wasConnected = false
  private var goneSince: Double?

  /// `jitter`: microseconds by which a good host may show another place than its own.
  init(jitter: Double = HostLine.jitter) { line = HostLine(jitter: jitter) }

  /// Follows the timebase master, if it leads. [audio]
  mutating func follow(_ now: borrowing CycleContext, master: LeaderReading, leads: Bool) -> Proposal? {
    var reading = master
    if !leads { reading.shown = .nothing }
    return now.isFreewheeling ? pause(now, reading) : follow(now, reading)
  }

  @inline(__always)
  func report(into report: inout Report) {
    report.hostPhaseError = phaseError
  }

  mutating func follow(_ now: borrowing CycleContext, _ reading: LeaderReading) -> Proposal? {
    proposal(examine(now, reading), reading)
  }

  private mutating func proposal(_ change: Proposal.Change?, _ reading: LeaderReading) -> Proposal? {
    guard let change else { return nil }
    lastProposal = reading.heard
    return Proposal(change, at: Micros(rounding: reading.heard), isDictated: true)
  }

  /// Begins a new line, because the host is known to be elsewhere. Otherwise the jump would be averaged in
  /// and taken for the drift of its crystal.
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
    // A peer that joins a session takes its tempo (TEMPO-2). The host's tempo counts again when the host
    // changes it.
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

  /// Ends a correction that is under way; otherwise the session would keep its tempo. Called while nothing
  /// can be read: the host is gone, or absent for a moment (a locate while it stands), or the server
  /// freewheels.
  mutating func pause(_ now: borrowing CycleContext, _ reading: LeaderReading) -> Proposal? {
    proposal(rest(now, reading), reading)
  }

  private mutating func rest(_ now: borrowing CycleContext, _ reading: LeaderReading) -> Proposal.Change? {
    let change = isCorrecting ? tempo(toCorrect: 0, within: 1, now, reading) : nil
    line.rest()
    return change
  }

  /// Handles the absence of the host. If it comes back within a moment, its tempo is no news; later it is
  /// another host.
  private mutating func leave(_ now: borrowing CycleContext, _ reading: LeaderReading) -> Proposal.Change? {
    let since = goneSince ?? reading.heard
    goneSince = since
    if reading.heard - since > Self.moment {
      line.forget()
      owesTempo = false
    }
    return rest(now, reading)
  }

  /// Link's tempo stays within 20...999; a host beyond gets a multiple or a fraction (TEMPO-4).
  static func factor(for beatsPerMinute: Double) -> Double {
    var factor = 1.0
    while beatsPerMinute * factor < Tempo.lowest && factor < 1024 { factor *= 2 }
    while beatsPerMinute * factor > Tempo.highest && factor > 1.0 / 64 { factor /= 2 }
    return factor
  }

  /// Wraps into half a quantum around 0; without a quantum, into half a beat.
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
      // The session's tempo may still contain a correction, or be a peer's choice.
      owesTempo = abs(60e6 / now.grid.beatMicros - line.pace) >= Self.smallestStep
      return .forceBeat(line.beat, quantum: now.settings.quantum)
    }
    return nudge(now, reading, size)
  }

  /// Coarse ticks show the host now here, now there, although it runs evenly.
  private var tolerance: Double { min(max(Self.tolerated, 1.25 * line.tick), Self.mostTolerated) }

  /// Removes a small distance with a tempo that is a little off for a time.
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

  /// The host's own tempo, or one that differs enough to remove `distance` in `time`.
  private mutating func tempo(
    toCorrect distance: Double, within time: Double, _ now: borrowing CycleContext, _ reading: LeaderReading
  ) -> Proposal.Change? {
    correctedBy = distance == 0 ? nil : reading.heard + time
    let wanted = line.pace + line.tempo * distance / time
    return abs(wanted - 60e6 / now.grid.beatMicros) < Self.smallestStep ? nil : .tempo(wanted)
  }
}
