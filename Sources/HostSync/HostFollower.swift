// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// Carries a leading host's tempo and beat into the session: another client is timebase master, we read what it
/// shows in every cycle, and propose what the session must do to be there with it.
///
/// Three rules keep it quiet. A tempo is news only when the host changes it: what we or a peer put into the
/// session is never sent back. The host's ticks jitter, so their distance from the session is averaged, and
/// nothing is done about it below half a millisecond. And at most twenty proposals a second go out.
///
/// A bigger distance is not chased with the tempo: alone in the session, or if the user says "I am the clock",
/// the session's grid is moved; otherwise the host is launched in phase (`Launch`) and the distance only shown.
public struct HostFollower: BitwiseCopyable {
  /// Microseconds between two proposals.
  static var shortestPause: Double { @_noLocks @_noAllocation get { 50_000 } }
  /// Smaller changes of tempo are noise (beats per minute).
  static var smallestStep: Double { @_noLocks @_noAllocation get { 0.0005 } }
  /// Correction of phase begins at the first and ends at the second distance, in microseconds.
  static var tolerated: Double { @_noLocks @_noAllocation get { 500 } }
  static var corrected: Double { @_noLocks @_noAllocation get { 60 } }
  /// More than this is not corrected by tempo but by moving the grid, if that is allowed.
  static var largestNudge: Double { @_noLocks @_noAllocation get { 5_000 } }
  /// A correction takes about so long.
  static var correctionTime: Double { @_noLocks @_noAllocation get { 2e6 } }
  /// Averaging of the host's jitter.
  static var averagingTime: Double { @_noLocks @_noAllocation get { 250_000 } }

  /// One cycle, as the follower needs it.
  struct Observation {
    /// What the master shows for frame 0 of this cycle, and when that is heard through the physical outputs.
    var bbt: BBT?
    var isRolling: Bool
    var heard: Double
    var grid: Grid
    var quantum: Double
    /// Nobody else is in the session, or the user says that the host is the clock.
    var mayForce: Bool
    var isConnected: Bool

    @_noLocks @_noAllocation
    init(
      bbt: BBT?, isRolling: Bool, heard: Double, grid: Grid, quantum: Double, mayForce: Bool,
      isConnected: Bool
    ) {
      self.bbt = bbt
      self.isRolling = isRolling
      self.heard = heard
      self.grid = grid
      self.quantum = quantum
      self.mayForce = mayForce
      self.isConnected = isConnected
    }
  }

  /// Readings that made no sense.
  public private(set) var refused: UInt64 = 0
  public private(set) var proposals: UInt64 = 0
  /// Host less session, averaged, in microseconds: positive when the host is ahead.
  public private(set) var phaseError = 0.0
  /// The host's tempo, brought into Link's range by doubling or halving; 0 while there is none.
  public private(set) var hostTempo = 0.0

  private var lastReading = 0.0
  private var owesTempo = false
  private var isCorrecting = false
  /// The host's crystal against Link's clock, as learned from what had to be corrected.
  private var trim = 0.0
  private var correctingSince = 0.0
  private var settledAt = -1e18
  /// `phaseError` when the present correction was last looked at.
  private var lastRest = 0.0
  private var lastProposal = -1e18
  private var lastForce = -1e18
  /// Where the host will be if it goes on, to notice locates.
  private var expected = 0.0
  private var lastHeard = 0.0
  /// Microseconds over which `phaseError` has been averaged so far; 0: not at all.
  private var averaged = 0.0
  private var wasConnected = false

  @_noLocks @_noAllocation
  init() {}

  /// [audio]
  @_noLocks @_noAllocation
  mutating func follow(_ now: Observation) -> Proposal? {
    guard let bbt = now.bbt else {
      forget()
      return nil
    }
    guard let beats = bbt.beats else {
      refused &+= 1
      return nil
    }
    let factor = Self.factor(for: bbt.beatsPerMinute)
    readTempo(bbt.beatsPerMinute * factor, isConnected: now.isConnected)
    measure(beats * factor, now)
    guard let change = decide(beats * factor, now) else { return nil }
    lastProposal = now.heard
    proposals &+= 1
    return Proposal(change, at: Micros(rounding: now.heard))
  }

  @_noLocks @_noAllocation
  private mutating func forget() {
    hostTempo = 0
    lastReading = 0
    owesTempo = false
    isCorrecting = false
    averaged = 0
  }

  /// Link stays within 20...999; a host beyond gets a multiple or a fraction (TEMPO-4).
  @_noLocks @_noAllocation
  static func factor(for beatsPerMinute: Double) -> Double {
    var factor = 1.0
    while beatsPerMinute * factor < Tempo.lowest && factor < 32 { factor *= 2 }
    while beatsPerMinute * factor > Tempo.highest && factor > 1.0 / 32 { factor /= 2 }
    return factor
  }

  /// A tempo counts when two readings in a row nearly agree: memory that was never written shows for one cycle.
  @_noLocks @_noAllocation
  private mutating func readTempo(_ reading: Double, isConnected: Bool) {
    let isConfirmed = abs(reading - lastReading) <= 0.1 * reading
    lastReading = reading
    // Whoever joins a session takes its tempo (TEMPO-2): the host's counts again when the host changes it.
    if isConnected && !wasConnected { owesTempo = false }
    wasConnected = isConnected
    guard isConfirmed, abs(reading - hostTempo) >= Self.smallestStep else { return }
    hostTempo = reading
    owesTempo = true
  }

  @_noLocks @_noAllocation
  private mutating func measure(_ beats: Double, _ now: Observation) {
    let elapsed = now.heard - lastHeard
    lastHeard = now.heard
    guard now.isRolling, hostTempo > 0 else {
      averaged = 0
      isCorrecting = false
      return
    }
    let beatLength = 60e6 / hostTempo
    if abs(beats - expected - elapsed / beatLength) > 0.05 { averaged = 0 }
    expected = beats
    let session = now.grid.beat(at: now.heard)
    let distance = Self.wrapped(beats - session, around: now.quantum) * now.grid.period
    if averaged == 0 {
      phaseError = distance
      averaged = max(1, min(elapsed, Self.averagingTime))
      return
    }
    averaged = min(averaged + max(0, elapsed), Self.averagingTime)
    let share = min(1, max(0, elapsed) / averaged)
    phaseError += (distance - phaseError) * share
  }

  /// Into -half ... half a quantum; without a quantum only the beat counts.
  @_noLocks @_noAllocation
  private static func wrapped(_ beats: Double, around quantum: Double) -> Double {
    let length = quantum > 0 ? quantum : 1
    let remainder = beats - length * Double(Int64(flooring: beats / length))
    return remainder >= length / 2 ? remainder - length : remainder
  }

  private var isMeasured: Bool {
    @_noLocks @_noAllocation get { averaged >= Self.averagingTime }
  }

  @_noLocks @_noAllocation
  private mutating func decide(_ beats: Double, _ now: Observation) -> Proposal.Change? {
    guard now.heard - lastProposal >= Self.shortestPause else { return nil }
    if owesTempo {
      owesTempo = false
      isCorrecting = now.isRolling
      correctingSince = now.heard
      // In a ramp each tempo is a little old when it arrives: what that cost so far is made good on the way.
      let isNear = averaged > 20_000 && abs(phaseError) <= 4 * Self.largestNudge
      return .tempo(hostTempo * (1 + trim + (isNear ? phaseError / (Self.correctionTime / 4) : 0)))
    }
    guard now.isRolling else { return nil }
    if now.mayForce, averaged > 20_000, abs(phaseError) > Self.largestNudge, now.heard - lastForce > 500_000 {
      lastForce = now.heard
      averaged = 0
      return .forceBeat(beats, quantum: now.quantum)
    }
    return nudge(now)
  }

  /// Brings a small distance to nothing with a tempo a little off.
  @_noLocks @_noAllocation
  private mutating func nudge(_ now: Observation) -> Proposal.Change? {
    guard isMeasured, abs(phaseError) <= Self.largestNudge else { return nil }
    let size = abs(phaseError)
    if isCorrecting {
      guard size < Self.corrected || now.heard - lastProposal > Self.correctionTime / 4 else { return nil }
      isCorrecting = size >= Self.corrected
      if !isCorrecting {
        settledAt = now.heard
      } else if now.heard - correctingSince > Self.correctionTime, abs(phaseError - lastRest) < 0.1 * size {
        // A rest that does not shrink is what the trim still lacks.
        trim += phaseError / Self.correctionTime
      }
      lastRest = phaseError
    } else {
      guard size > Self.tolerated else { return nil }
      isCorrecting = true
      correctingSince = now.heard
      learnTrim(at: now.heard)
    }
    let wanted = hostTempo * (1 + trim + (isCorrecting ? phaseError / Self.correctionTime : 0))
    let session = 60e6 / now.grid.period
    return abs(wanted - session) < Self.smallestStep ? nil : .tempo(wanted)
  }

  /// A distance that grew since the last correction was done is the crystals' difference.
  @_noLocks @_noAllocation
  private mutating func learnTrim(at now: Double) {
    let elapsed = now - settledAt
    guard elapsed > Self.correctionTime, elapsed < 1e9 else { return }
    trim = min(0.001, max(-0.001, trim + 0.7 * phaseError / elapsed))
  }
}
