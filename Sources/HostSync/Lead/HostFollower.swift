// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices

/// Carries a leading host's tempo and beat into the session: another client is timebase master, we read what it
/// shows in every cycle, and propose what the session must do to be there with it.
///
/// Three rules keep it quiet. A tempo is news only when the host changes it: what we or a peer put into the
/// session is never sent back. Nothing is done about a distance below half a millisecond. And a correction is two
/// proposals: a tempo a little off that brings the distance to nothing in a known time, and then the host's again.
/// However fast a host ramps, at most twenty a second go out.
///
/// A bigger distance is not chased with the tempo: alone in the session, or if the user says "I am the clock",
/// the session's grid is moved; otherwise the host is launched in phase (`Launch`) and the distance only shown.
struct HostFollower: BitwiseCopyable {
  /// Microseconds between two proposals.
  static let shortestPause: Double = 50_000
  /// Smaller changes of tempo are noise (beats per minute).
  static let smallestStep: Double = 0.0005
  /// A smaller distance is let be, in microseconds; a tempo that is due anyway takes more than the last along.
  static let tolerated: Double = 500
  static let mostTolerated: Double = 900
  static let negligible: Double = 60
  /// More than this is not corrected by tempo but by moving the grid, if that is allowed.
  static let largestNudge: Double = 5_000
  /// A correction takes so long, a big one longer: no tempo is more than this share off for it.
  static let correctionTime: Double = 1e6
  static let steepestNudge: Double = 0.0025
  /// In a ramp each tempo is a little old when it arrives: what that cost so far is made good on the way.
  static let rampTime: Double = 500_000
  static let largestInRamp: Double = 20_000
  /// What a correction left, because its measurement was worse than the ones since, may be corrected again so often.
  static let rest: Double = 150
  static let mostRounds: Int = 3
  /// If they were in vain, what was measured is not what it seems; another try can wait.
  static let pauseAfterVain: Double = 2e6
  /// So short a look is enough to move the grid by.
  static let firstLook: Double = 20_000
  /// A session that far from the host's tempo was put there by a peer, and stays there.
  static let peersChoice: Double = 0.01

  /// Who shows nothing for longer is gone.
  static let moment: Double = 2e6

  /// Host less session, smoothed, in microseconds: positive when the host is ahead.
  private(set) var phaseError = 0.0
  /// A correction is under way: the session's tempo is not the host's.
  var isCorrecting: Bool { correctedBy != nil }

  private var line: HostLine
  private var owesTempo = false
  /// When the present correction will have brought the distance to nothing.
  private var correctedBy: Double?
  private var rounds = 0
  private var nextNudge = -1e18
  private var lastProposal = -1e18
  private var lastForce = -1e18
  private var wasConnected = false
  private var goneSince: Double?

  /// `jitter`: how far a good host may show to be from where it is, in microseconds.
  init(jitter: Double = HostLine.jitter) { line = HostLine(jitter: jitter) }

  /// What the timebase master shows goes into the session, if it leads. [audio]
  mutating func follow(_ now: borrowing Now, master: LeaderReading, leads: Bool) -> Proposal? {
    var reading = master
    if !leads { reading.shown = .nothing }
    return now.isFreewheeling ? pause(now, reading) : follow(now, reading)
  }

  @inline(__always)
  func report(into report: inout Report) {
    report.hostPhaseError = phaseError
  }

  mutating func follow(_ now: borrowing Now, _ reading: LeaderReading) -> Proposal? {
    told(look(now, reading), reading)
  }

  private mutating func told(_ change: Proposal.Change?, _ reading: LeaderReading) -> Proposal? {
    guard let change else { return nil }
    lastProposal = reading.heard
    return Proposal(change, at: Micros(rounding: reading.heard), isDictated: true)
  }

  /// The host is known to be elsewhere from now on: a new line begins, or the jump would be averaged in and taken for its
  /// crystal.
  mutating func hostJumped() { line.rest() }

  private mutating func look(_ now: borrowing Now, _ reading: LeaderReading) -> Proposal.Change? {
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
    // A peer that joins a session takes its tempo (TEMPO-2): the host's counts again when the host changes it.
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

  /// Nothing can be read: the host is gone, or for a moment (a locate while it stands), or the server freewheels. A correction
  /// that was under way is over, or the session would keep its tempo.
  mutating func pause(_ now: borrowing Now, _ reading: LeaderReading) -> Proposal? {
    told(rest(now, reading), reading)
  }

  private mutating func rest(_ now: borrowing Now, _ reading: LeaderReading) -> Proposal.Change? {
    let change = isCorrecting ? tempo(toCorrect: 0, within: 1, now, reading) : nil
    line.rest()
    return change
  }

  /// The tempo of a host that comes back is no news; after longer than a moment it is another host.
  private mutating func leave(_ now: borrowing Now, _ reading: LeaderReading) -> Proposal.Change? {
    let since = goneSince ?? reading.heard
    goneSince = since
    if reading.heard - since > Self.moment {
      line.forget()
      owesTempo = false
    }
    return rest(now, reading)
  }

  /// Link stays within 20...999; a host beyond gets a multiple or a fraction (TEMPO-4).
  static func factor(for beatsPerMinute: Double) -> Double {
    var factor = 1.0
    while beatsPerMinute * factor < Tempo.lowest && factor < 1024 { factor *= 2 }
    while beatsPerMinute * factor > Tempo.highest && factor > 1.0 / 64 { factor /= 2 }
    return factor
  }

  /// Into -half ... half a quantum; without a quantum only the beat counts.
  private static func wrapped(_ beats: Double, around quantum: Double) -> Double {
    let length = quantum > 0 ? quantum : 1
    let remainder = beats - length * Double(Int64(flooring: beats / length))
    return remainder >= length / 2 ? remainder - length : remainder
  }

  private mutating func decide(_ now: borrowing Now, _ reading: LeaderReading) -> Proposal.Change? {
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
      // A correction that was under way is in the tempo still, or a peer's wish.
      owesTempo = abs(60e6 / now.grid.beatMicros - line.pace) >= Self.smallestStep
      return .forceBeat(line.beat, quantum: now.settings.quantum)
    }
    return nudge(now, reading, size)
  }

  /// Coarse ticks show the host now here, now there, though it goes on as it did.
  private var tolerance: Double { min(max(Self.tolerated, 1.25 * line.tick), Self.mostTolerated) }

  /// Brings a small distance to nothing with a tempo a little off, for a time.
  private mutating func nudge(_ now: borrowing Now, _ reading: LeaderReading, _ size: Double) -> Proposal
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

  /// The host's own, or so far off it that the distance is made up for in that time.
  private mutating func tempo(
    toCorrect distance: Double, within time: Double, _ now: borrowing Now, _ reading: LeaderReading
  ) -> Proposal.Change? {
    correctedBy = distance == 0 ? nil : reading.heard + time
    let wanted = line.pace + line.tempo * distance / time
    return abs(wanted - 60e6 / now.grid.beatMicros) < Self.smallestStep ? nil : .tempo(wanted)
  }
}
