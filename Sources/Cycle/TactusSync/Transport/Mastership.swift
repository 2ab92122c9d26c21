// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath
public import TactusChoices

/// Decides whether we are the timebase master, from observations and never from a return code alone.
///
/// Any client may take the timebase without a notice to the old master; PipeWire even says yes to a
/// conditional request and then does nothing (facts: jack 5). So two observations are the evidence: JACK
/// calls our callback when it should, and the transport shows the bar and beat that we wrote. A client that
/// displaced us keeps the timebase: we follow that client, tell the user so, and wait for an explicit
/// command. We take over only a timebase that another tactus leaves, because no user chose between the two.
public struct Mastership {
  public enum MasterState: Equatable, Sendable {
    /// We do not want to be master.
    case uninvolved
    case asked
    case master
    /// Another client is master: it refused us or took our place.
    case follower
    /// We wanted to be master, another client was master instead, and now no client is master.
    case vacant
  }

  public enum Action: Equatable, Sendable {
    case nothing
    case ask(conditionally: Bool)
    case release
  }

  /// The time without a call of our callback after which we are not master. JACK calls its master within a
  /// few cycles, and a cycle lasts 186 ms at 8192 frames and 44.1 kHz. A server that stands runs no cycles.
  static let silenceLimit = Micros(400_000)
  static let patientCycles: UInt = 3
  /// The time for which evidence of another master must last: after a locate JACK shows invalid values for
  /// one cycle.
  static let doubt = Micros(150_000)
  /// The time after another tactus has left in which a timebase without a master counts as that tactus's
  /// timebase.
  static let inheritance = Micros(2_000_000)
  /// The shortest time between two updates of the position while the transport stands, for a new tempo or
  /// meter.
  static let refreshInterval = Micros(50_000)

  public private(set) var standing = MasterState.uninvolved
  private var askedAt = Micros.zero
  /// The number of calls of our callback that prove nothing: those from before we asked for the timebase, and
  /// those while we were master.
  private var callsBefore: UInt
  private var cyclesWhenAsked: UInt = 0
  private var lastCalls: UInt
  private var lastCycles: UInt = 0
  private var refreshedAt = Micros.zero
  /// The time at which another tactus left the server.
  private var neighbourLeftAt: Micros?
  /// The time since which observations contradict the present standing.
  private var doubtedSince: Micros?

  /// `calls`: the number of calls of our callback until now.
  public init(calls: UInt = 0) {
    callsBefore = calls
    lastCalls = calls
  }

  /// Notes that we asked JACK for the timebase. JACK may have called us already, so only calls since the last
  /// call of `step` count.
  public mutating func asked(wasRefused: Bool, at now: Micros) {
    // If we are master already, we asked only to make JACK call us.
    if standing == .master && !wasRefused { return }
    standing = wasRefused ? .follower : .asked
    askedAt = now
    callsBefore = lastCalls
    cyclesWhenAsked = lastCycles
    doubtedSince = nil
  }

  /// Notes that another tactus has left the server.
  public mutating func neighbourLeft(at now: Micros) { neighbourLeftAt = now }

  private func inherits(at now: Micros) -> Bool {
    neighbourLeftAt.map { now - $0 < Self.inheritance } ?? false
  }

  /// Returns whether we are to be master. With `.auto` we give way to any other master; otherwise the user's
  /// wish `isAsked` decides.
  public static func isWanted(_ lead: Lead, isAsked: Bool, shown: Timebase) -> Bool {
    lead == .auto ? shown != .foreign : isAsked
  }

  /// Looks once at the report, and returns an action that must be done at once. After an `ask`, call `asked`.
  /// [control]
  ///
  /// - Parameters:
  ///   - calls: the number of calls of our callback until now.
  ///   - cycles: the number of audio cycles until now.
  public mutating func step(
    isWanted: Bool, _ report: Report, calls: UInt, cycles: UInt, at now: Micros
  ) -> Action {
    defer {
      lastCalls = calls
      lastCycles = cycles
    }
    guard isWanted else { return resign(report) }
    switch standing {
    case .uninvolved: return .ask(conditionally: true)
    case .asked:
      if calls != callsBefore {
        standing = .master
      } else if now - askedAt > Self.silenceLimit, cycles &- cyclesWhenAsked >= Self.patientCycles {
        standing = .follower
      }
    case .master:
      callsBefore = calls
      return watch(report, isCalled: calls != lastCalls || cycles == lastCycles, at: now)
    case .follower, .vacant:
      if isMasterAfterAll(calls, report) {
        standing = .master
        doubtedSince = nil
      } else {
        waitForTimebase(report, at: now)
      }
    }
    return .nothing
  }

  private mutating func resign(_ report: Report) -> Action {
    let isInvolved = standing == .master || standing == .asked
    // jack2 relocates all clients when the master leaves while the transport rolls, so wait for a stop.
    if isInvolved, report.song.isRolling { return .nothing }
    standing = .uninvolved
    return isInvolved ? .release : .nothing
  }

  /// Waits until the other client leaves the timebase. If `standing` becomes `uninvolved`, we ask at the next
  /// call of `step`.
  private mutating func waitForTimebase(_ report: Report, at now: Micros) {
    if standing == .vacant, inherits(at: now) {
      standing = .uninvolved
    } else if isSustained(report.master.timebase == (standing == .vacant ? .foreign : .none), at: now) {
      standing = standing == .vacant ? .follower : inherits(at: now) ? .uninvolved : .vacant
    }
  }

  /// Whether we are master although JACK called us late. JACK calls only the master, and shows only the
  /// master's position.
  private func isMasterAfterAll(_ calls: UInt, _ report: Report) -> Bool {
    calls != callsBefore && report.master.timebase == .ours
  }

  private mutating func watch(_ report: Report, isCalled: Bool, at now: Micros) -> Action {
    if isSustained(report.song.isRolling && !isCalled || report.master.timebase == .foreign, at: now) {
      standing = report.master.timebase == .none ? .vacant : .follower
      return .nothing
    }
    // While the transport stands JACK does not call the master, unless we ask for the timebase again (facts:
    // jack 5).
    guard !report.song.isRolling, report.master.showsOther, now - refreshedAt >= Self.refreshInterval,
      doubtedSince == nil
    else { return .nothing }
    refreshedAt = now
    return .ask(conditionally: true)
  }

  private mutating func isSustained(_ isDoubtful: Bool, at now: Micros) -> Bool {
    guard isDoubtful else {
      doubtedSince = nil
      return false
    }
    let since = doubtedSince ?? now
    doubtedSince = since
    guard now - since >= Self.doubt else { return false }
    doubtedSince = nil
    return true
  }
}
