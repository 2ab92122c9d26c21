// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath

/// Proposes to the session the time of a start that waits while JACK's transport is stopped. The audio
/// thread's own proposal would come too late for the peers. Once JACK was asked, a slow program may still
/// move the start; in that case the peers get the new time, too. [control]
public struct StartAnnouncement: Sendable {
  /// A proposal to the session.
  public enum News: Equatable, Sendable {
    /// The session starts at this time, unless it plays already. Pass the outcome to `isOurs`.
    case start(at: Micros)
    /// The start that we have announced comes at this time instead of the announced one.
    case move(to: Micros)
  }

  private struct Announced: Sendable {
    var beat: Double
    /// Whether JACK was asked for the start, which the report may not show yet.
    var isAsked = false
  }

  private var announced: Announced?
  /// Whether tactus itself has started the session. If a peer has started it, tactus does not change the time
  /// of the start.
  public var isOurs = false

  public init() {}

  /// Call this when the start was called off.
  public mutating func forget() { announced = nil }

  /// Returns the next proposal; nil: there is no proposal. `standing` is the session's beat of a start that
  /// JACK has not begun yet.
  public mutating func next(_ standing: Double?, _ report: Report) -> News? {
    let shown = report.song.isWaiting ? report.song.startBeat : announced?.beat
    guard let beat = standing ?? (isStillWaiting(report) ? shown : nil) else {
      announced = nil
      return nil
    }
    let time = Micros(
      rounding: report.moment.heard.start + (beat - report.sessionBeat) * report.moment.beatMicros)
    guard let known = announced else {
      announced = Announced(beat: beat)
      return .start(at: time)
    }
    announced?.isAsked = standing == nil
    guard isOurs, known.beat != beat else { return nil }
    announced?.beat = beat
    return .move(to: time)
  }

  /// Whether the start that we announced to the session has not happened yet. JACK may show it some cycles
  /// late.
  private func isStillWaiting(_ report: Report) -> Bool {
    guard let announced else { return false }
    return report.song.isWaiting || !(announced.isAsked || report.isMoving)
  }
}
