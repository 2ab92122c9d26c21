// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath

/// Tells the session of a start that waits while JACK's transport is stopped: the audio thread would tell the
/// session too late for the peers. Once JACK was asked, a slow program may still move the start, and the
/// peers get the new time, too. [control]
public struct StartAnnouncement: Sendable {
  /// A proposal to the session.
  public enum News: Equatable, Sendable {
    /// The session starts at this time, unless it plays already. Pass the outcome to `isOurs`.
    case start(at: Micros)
    /// The start that we announced comes at this time.
    case move(to: Micros)
  }

  private struct Told: Sendable {
    var beat: Double
    /// JACK was asked for the start; the report may not show that yet.
    var isAsked = false
  }

  private var told: Told?
  /// tactus started the session. If a peer did, tactus does not change the time of the start.
  public var isOurs = false

  public init() {}

  /// The start was called off.
  public mutating func forget() { told = nil }

  /// `standing`: the session's beat of the start, until JACK has begun it.
  public mutating func next(_ standing: Double?, _ report: Report) -> News? {
    let shown = report.isWaiting ? report.startBeat : told?.beat
    guard let beat = standing ?? (isTold(report) ? shown : nil) else {
      told = nil
      return nil
    }
    let time = Micros(
      rounding: report.moment.heard.start + (beat - report.sessionBeat) * report.moment.beatMicros)
    guard let known = told else {
      told = Told(beat: beat)
      return .start(at: time)
    }
    told?.isAsked = standing == nil
    guard isOurs, known.beat != beat else { return nil }
    told?.beat = beat
    return .move(to: time)
  }

  /// Whether JACK was asked for the start that the session knows of, and the start still waits.
  private func isTold(_ report: Report) -> Bool {
    guard let told else { return false }
    return report.isWaiting || !(told.isAsked || report.isMoving)
  }
}
