// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
public import Choices

/// Whether we are the timebase master, judged by what is seen and never by a return code alone.
///
/// Any client may take the timebase without a word to the old master; PipeWire even says yes to a conditional
/// wish and then does nothing (facts: jack 5). So: is our callback called while it should be, and is the bar
/// and beat that the transport shows the one that we wrote? A client that displaced us keeps it: we follow, say so,
/// and wait for an explicit word. Only from a tactus that leaves it is inherited: nobody chose between those two.
public struct Mastership {
  public enum Standing: Equatable, Sendable {
    /// We do not want it.
    case uninvolved
    case asked
    case master
    /// Another client is master: it refused us or took our place.
    case follower
    /// We wanted it, somebody had it, and now nobody has.
    case vacant
  }

  public enum Action: Equatable, Sendable {
    case nothing
    case ask(conditionally: Bool)
    case release
  }

  /// JACK calls within a few cycles, which are 186 ms each at 8192 frames and 44.1 kHz; and a server that stands has none.
  static let patience = Micros(400_000)
  static let patientCycles: UInt = 3
  /// One cycle after a locate shows nonsense; longer than this is somebody else's word.
  static let doubt = Micros(150_000)
  /// So long after a tactus has left, a timebase that becomes vacant was its own.
  static let inheritance = Micros(2_000_000)
  /// A tempo that moves while the transport stands, or another meter, is shown at most so often.
  static let refreshInterval = Micros(50_000)

  public private(set) var standing = Standing.uninvolved
  private var askedAt = Micros.zero
  /// What was called before we asked, or while we were master, is no news.
  private var callsBefore: UInt
  private var cyclesWhenAsked: UInt = 0
  private var lastCalls: UInt
  private var lastCycles: UInt = 0
  private var refreshedAt = Micros.zero
  /// When a tactus beside us left the server.
  private var neighbourLeftAt: Micros?
  /// Since when the observations speak against the present standing.
  private var doubtedSince: Micros?

  /// `calls`: how often our callback was called so far.
  public init(calls: UInt = 0) {
    callsBefore = calls
    lastCalls = calls
  }

  /// JACK may have called us already: what counts is what was seen before.
  public mutating func asked(wasRefused: Bool, at now: Micros) {
    // As master this was only a nudge.
    if standing == .master && !wasRefused { return }
    standing = wasRefused ? .follower : .asked
    askedAt = now
    callsBefore = lastCalls
    cyclesWhenAsked = lastCycles
    doubtedSince = nil
  }

  /// Another tactus has left the server.
  public mutating func neighbourLeft(at now: Micros) { neighbourLeftAt = now }

  private func inherits(at now: Micros) -> Bool {
    neighbourLeftAt.map { now - $0 < Self.inheritance } ?? false
  }

  /// Whether we are to be master: with `.auto` we leave it to any client that takes it; else it is asked for or not.
  public static func isWanted(_ lead: Lead, isAsked: Bool, shown: Timebase) -> Bool {
    lead == .auto ? shown != .foreign : isAsked
  }

  /// One look. What it returns is to be done at once; an `ask` is then reported with `asked`. [control]
  ///
  /// - Parameters:
  ///   - calls: how often our callback was called so far.
  ///   - cycles: how many audio cycles there were.
  public mutating func step(
    isWanted: Bool, _ report: Report, calls: UInt, cycles: UInt, at now: Micros
  ) -> Action {
    defer {
      lastCalls = calls
      lastCycles = cycles
    }
    switch (isWanted, standing) {
    case (true, .uninvolved):
      return .ask(conditionally: true)
    case (false, .master), (false, .asked):
      // jack2 relocates everybody when the master leaves while rolling.
      guard !report.isRolling else { return .nothing }
      standing = .uninvolved
      return .release
    case (false, .uninvolved), (false, .follower), (false, .vacant):
      standing = .uninvolved
      return .nothing
    case (true, .asked):
      if calls != callsBefore {
        standing = .master
      } else if now - askedAt > Self.patience, cycles &- cyclesWhenAsked >= Self.patientCycles {
        standing = .follower
      }
      return .nothing
    case (true, .follower) where isMasterAfterAll(calls, report),
      (true, .vacant) where isMasterAfterAll(calls, report):
      standing = .master
      doubtedSince = nil
      return .nothing
    case (true, .master):
      callsBefore = calls
      return watch(report, isCalled: calls != lastCalls || cycles == lastCycles, at: now)
    case (true, .follower):
      // What is uninvolved asks at the next look.
      if isSustained(report.timebase == .none, at: now) {
        standing = inherits(at: now) ? .uninvolved : .vacant
      }
      return .nothing
    case (true, .vacant) where inherits(at: now):
      standing = .uninvolved
      return .nothing
    case (true, .vacant):
      if isSustained(report.timebase == .foreign, at: now) { standing = .follower }
      return .nothing
    }
  }

  /// However late: nobody but the master is called, and shown.
  private func isMasterAfterAll(_ calls: UInt, _ report: Report) -> Bool {
    calls != callsBefore && report.timebase == .ours
  }

  private mutating func watch(_ report: Report, isCalled: Bool, at now: Micros) -> Action {
    if isSustained(report.isRolling && !isCalled || report.timebase == .foreign, at: now) {
      standing = report.timebase == .none ? .vacant : .follower
      return .nothing
    }
    // While the transport stands nobody calls the master; asking again makes JACK do it (facts: jack 5).
    guard !report.isRolling, report.showsOther, now - refreshedAt >= Self.refreshInterval,
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
