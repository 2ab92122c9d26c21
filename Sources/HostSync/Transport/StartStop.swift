// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices

/// Somebody started or stopped the transport: the session is told, unless it knows.
struct StartStop: BitwiseCopyable {
  private var wasRunning = false
  /// The start or stop that was told and that the session does not show yet.
  private var told: Bool?

  /// A held start is told for the boundary that it waits for, so that peers choose the same one.
  mutating func follow(_ now: borrowing Now, _ start: Start?) -> Proposal? {
    var runs = true
    if case .stopped = now.transport.state { runs = false }
    let isChange = runs != wasRunning
    wasRunning = runs
    if told == now.session.isPlaying { told = nil }
    let isKnown = if let told { told == runs } else { now.session.isPlaying == runs }
    guard isChange, !isKnown, now.settings.syncsStartStop, !now.isFreewheeling else { return nil }
    told = runs
    var due = now.heard.start
    if let start { due = max(due, now.grid.time(of: start.target.value)) }
    return Proposal(.playing(runs), at: Micros(rounding: due))
  }
}

/// The other way: what the session's starts and stops ask of the transport. Only a change counts: joining a session that plays
/// starts nothing.
public struct StartStopBridge {
  private var wasPlaying: Bool?

  public init() {}

  /// true: start; false: stop; nil: nothing is to be done, because nothing changed or the transport does it already. While
  /// the server freewheels nobody starts or stops an export; what changed meanwhile counts when time is real again.
  public mutating func wants(isPlaying: Bool, isMoving: Bool, isFreewheeling: Bool) -> Bool? {
    guard !isFreewheeling else { return nil }
    defer { wasPlaying = isPlaying }
    guard let wasPlaying, wasPlaying != isPlaying, isMoving != isPlaying else { return nil }
    return isPlaying
  }
}
