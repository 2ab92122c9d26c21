// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import TactusChoices

/// The session's request to the transport. The control thread carries it out, once for each number.
public struct SessionCommand: Sendable, BitwiseCopyable {
  public internal(set) var number: UInt32 = 0
  public internal(set) var starts = false
}

/// Carries the transport's starts and stops to the session, and those of the session to the transport. Until
/// the session has taken our last start or stop, the session may still show an earlier command of ours, so
/// its state does not move the transport. After that, a change of the session comes from a peer. We count
/// commands and do not time them, because their delay is unknown.
struct StartStop: BitwiseCopyable {
  private var wasRunning = false
  /// Whether the session played in the last cycle; nil: the session has not been seen yet. The session's
  /// first state starts nothing.
  private var wasPlaying: Bool?
  /// The number of the start or stop that we sent last; nil: we sent none. `told` is its kind. Commands of an
  /// earlier server are not ours.
  private var toldNumber: UInt32?
  private var told = false
  /// The beat of the last start that we sent to the session, or the first beat of a peer's.
  private var toldTarget: Beats?
  private(set) var command = SessionCommand()
  /// The request that the transport has not carried out yet. Meanwhile its changes are ours, and the request
  /// counts as its state. Otherwise a stop that comes before the start would be lost, and the start would
  /// count as a user's.
  private var asked: Asked?

  private struct Asked: BitwiseCopyable {
    let starts: Bool
    /// Microseconds until we give up. A start may wait before JACK is asked for it.
    var left = TransportLimits.answerMicros
    var hasMoved = false

    init(starts: Bool, isLate: Bool, _ now: borrowing CycleContext) {
      self.starts = starts
      guard starts, isLate else { return }
      let ahead = max(0, min(now.notBefore - now.heard.start, LaunchSettings.longestPeersWait))
      left += ahead + Double(now.settings.launch.longestWait.count)
    }
  }

  /// Whether the session started the transport, which has not been stopped since then.
  private(set) var isObeying = false

  /// The session plays, or will play, because we told it to.
  var isOurs: Bool { told && !isObeying }

  /// Sends a held start with the boundary that it waits for, so that peers choose the same one, and again if
  /// that boundary changes. While the server freewheels nothing is sent, and the session cannot start or stop
  /// an export; changes made meanwhile take effect when time is real again. With sync off, our own state in
  /// the session still follows the transport, unseen by peers. So that state is right when sync is switched
  /// on.
  mutating func follow(_ now: borrowing CycleContext, startsAt target: Beats?) -> Proposal? {
    guard !now.isFreewheeling else { return nil }
    var runs = true
    if case .stopped = now.transport.state { runs = false }
    let isChange = isOthers(runs, cycleMicros: now.cycleMicros)
    if isChange, !runs { isObeying = false }
    let taken = now.startStopsTaken
    let number = toldNumber ?? taken
    let isAnswered = Int32(bitPattern: taken &- number) >= 0
    let stopsLater = stopsLater(now)
    let isPlaying = now.session.isPlaying || stopsLater
    guard isChange, (isAnswered ? isPlaying : told) != runs else {
      if isAnswered { obey(now.settings.syncsStartStop ? isPlaying : nil, runs: runs, now) }
      guard isAnswered, isPlaying, isMoved(now, to: target) else { return nil }
      return tell(now, runs: true, startsAt: target, number: number)
    }
    return tell(now, runs: runs, startsAt: target, number: number)
  }

  /// Whether a peer has set a later time for its stop.
  private func stopsLater(_ now: borrowing CycleContext) -> Bool {
    guard now.isRolling, wasPlaying == true else { return false }
    let left = Double(now.session.timeOfPlaying.count) - now.heard.start
    return left > 0 && left < LaunchSettings.longestPeersWait
  }

  /// Whether the start that we sent now waits for another beat, or the user does not wait for a peer's time.
  private mutating func isMoved(_ now: borrowing CycleContext, to target: Beats?) -> Bool {
    guard case .starting = now.transport.state, let target else { return false }
    guard isObeying else { return told && target != toldTarget }
    let first = toldTarget ?? target
    toldTarget = first
    guard target != first else { return false }
    return now.grid.time(of: target.value) < now.notBefore - now.grid.beatMicros
  }

  private mutating func tell(
    _ now: borrowing CycleContext, runs: Bool, startsAt target: Beats?, number: UInt32
  )
    -> Proposal
  {
    toldNumber = number &+ 1
    isObeying = false
    (told, wasPlaying) = (runs, runs)
    toldTarget = runs ? target : nil
    var due = now.heard.start
    // A start that waits for nothing plays at once; its target is only the nearest beat.
    if let target, now.settings.launchStep > .zero { due = max(due, now.grid.time(of: target.value)) }
    return Proposal(.playing(runs), at: Micros(rounding: due), number: number &+ 1)
  }

  /// Returns whether the transport was started or stopped, other than by our request.
  private mutating func isOthers(_ runs: Bool, cycleMicros: Double) -> Bool {
    let isChange = runs != wasRunning
    wasRunning = runs
    guard let now = asked else { return isChange }
    if isChange { asked?.hasMoved = true }
    asked?.left -= cycleMicros
    if isChange, runs == now.starts {
      asked = nil
    } else if now.left <= 0 {
      asked = nil
      return (isChange || now.hasMoved) && runs != now.starts
    }
    return false
  }

  /// Obeys a change of the session, unless the transport has made it already. nil: sync is off.
  private mutating func obey(_ isPlaying: Bool?, runs: Bool, _ now: borrowing CycleContext) {
    defer { wasPlaying = isPlaying }
    guard let isPlaying, let wasPlaying, wasPlaying != isPlaying, isPlaying != (asked?.starts ?? runs) else {
      return
    }
    command.starts = isPlaying
    asked = Asked(starts: isPlaying, isLate: now.asksLate, now)
    isObeying = isPlaying
    toldTarget = nil
    command.number &+= 1
  }

  /// Expects a restart: JACK let a start roll too early, and the control thread stops it, goes back and
  /// starts again. The session has this start already.
  mutating func expectRestart(_ now: borrowing CycleContext) {
    asked = Asked(starts: true, isLate: true, now)
  }

  mutating func report(into report: inout Report) { report.startStop = command }
}
