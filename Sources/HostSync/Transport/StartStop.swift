// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices

/// What the session asks of the transport: the control thread does it, once for each number.
public struct StartStopWish: Sendable, BitwiseCopyable {
  public internal(set) var number: UInt32 = 0
  public internal(set) var starts = false
}

/// The transport's starts and stops are told to the session, and the session's to the transport. What the session says before it
/// has taken our last word may be our own words coming back, one after the other, and moves nothing; what it says after that is a
/// peer's. That is counted and not timed: nobody knows how long our words are under way.
struct StartStop: BitwiseCopyable {
  private var wasRunning = false
  /// nil: its first sight starts nothing.
  private var wasPlaying: Bool?
  /// The number of the start or stop that was told last, and which it was; nil: what was told before us is not ours.
  private var toldNumber: UInt32?
  private var told = false
  /// The beat of the last start that we sent to the session.
  private var toldTarget: Beats?
  private(set) var wish = StartStopWish()
  /// What the transport was asked for and has not done yet. Until then it is nobody else's doing what it does, and what it shall do counts,
  /// not what it does: a stop that comes before it has started would be lost otherwise, and the start told as a hand's.
  private var asked: Asked?

  private struct Asked: BitwiseCopyable {
    let starts: Bool
    /// Microseconds: the control thread takes the wish within 20 ms, and a machine that stands still later. A stop may wait for its bar,
    /// and so may a start.
    var left = 1_000_000.0
    var hasMoved = false
  }

  /// The session started it, and it has not been stopped since.
  private(set) var isObeying = false

  /// A held start is told for the boundary that it waits for, so that peers choose the same one; and again, if that boundary changes.
  /// While the server freewheels nobody is told, and nobody starts or stops an export; what changed meanwhile, here or there, counts
  /// when time is real again. With sync off our own state in the session follows all the same, which tells nobody: so it is true when
  /// sync is switched on.
  mutating func follow(_ now: borrowing Now, startsAt target: Beats?) -> Proposal? {
    guard !now.isFreewheeling else { return nil }
    var runs = true
    if case .stopped = now.transport.state { runs = false }
    let isChange = isOthers(runs, cycleMicros: now.cycleMicros)
    if isChange, !runs { isObeying = false }
    let taken = now.startStopsTaken
    let number = toldNumber ?? taken
    let isAnswered = Int32(bitPattern: taken &- number) >= 0
    let isPlaying = now.session.isPlaying
    guard isChange, (isAnswered ? isPlaying : told) != runs else {
      if isAnswered { obey(now.settings.syncsStartStop ? isPlaying : nil, runs: runs, now) }
      guard isAnswered, isPlaying, isMoved(now, to: target) else { return nil }
      return tell(now, runs: true, startsAt: target, number: number)
    }
    return tell(now, runs: runs, startsAt: target, number: number)
  }

  /// The start that we told waits for another beat by now.
  private func isMoved(_ now: borrowing Now, to target: Beats?) -> Bool {
    guard case .starting = now.transport.state, let target, let toldTarget else { return false }
    return told && !isObeying && target != toldTarget
  }

  private mutating func tell(_ now: borrowing Now, runs: Bool, startsAt target: Beats?, number: UInt32)
    -> Proposal
  {
    toldNumber = number &+ 1
    (told, wasPlaying) = (runs, runs)
    toldTarget = runs ? target : nil
    var due = now.heard.start
    if let target { due = max(due, now.grid.time(of: target.value)) }
    return Proposal(.playing(runs), at: Micros(rounding: due), number: number &+ 1)
  }

  /// Whether the transport was started or stopped, and not by our wish.
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

  /// Only a change of the session's counts, and only if the transport has not done it itself. nil: sync is off.
  private mutating func obey(_ isPlaying: Bool?, runs: Bool, _ now: borrowing Now) {
    defer { wasPlaying = isPlaying }
    guard let isPlaying, let wasPlaying, wasPlaying != isPlaying, isPlaying != (asked?.starts ?? runs) else {
      return
    }
    wish.starts = isPlaying
    asked = Asked(starts: isPlaying)
    if isPlaying, now.asksLate {
      let ahead = max(0, min(now.notBefore - now.heard.start, LaunchSettings.longestPeersWait))
      asked?.left += ahead + Double(now.settings.launch.longestWait.count)
    }
    isObeying = isPlaying
    wish.number &+= 1
  }

  /// JACK let a start roll too early: the control thread stops it, goes back and starts it again, and the session has its start already.
  mutating func expectRestart(_ now: borrowing Now) {
    asked = Asked(starts: true, left: 1_500_000 + now.settings.launchStep.value * now.grid.beatMicros)
  }

  mutating func report(into report: inout Report) { report.startStop = wish }
}
