// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

/// A start or stop of the session, which the transport must follow. The control thread carries it out once
/// for each number.
public struct SessionCommand: Sendable, BitwiseCopyable {
  public internal(set) var number: UInt32 = 0
  public internal(set) var starts = false
}

/// Carries the transport's starts and stops to the session, and the session's to the transport. Until the
/// session has taken our last start or stop, it may still show an earlier command of ours, so its state does
/// not move the transport. After that, a change of the session comes from a peer. We count commands and do
/// not time them, because their delay is unknown.
struct StartStop: BitwiseCopyable {
  private var wasRunning = false
  /// Whether the session played in the last cycle; nil: the session has not been seen yet. So the first state
  /// that we see of a session starts nothing.
  private var wasPlaying: Bool?
  /// The number of our last proposal to the session; nil: we have proposed nothing on this server.
  /// `proposedStart`: whether our last proposal was a start.
  private var proposedNumber: UInt32?
  private var proposedStart = false
  /// The session's beat of the last start that we proposed. For a peer's start, the beat that we chose for it
  /// at the beginning.
  private var startBeat: Beats?
  private(set) var command = SessionCommand()
  /// The session's start or stop that the transport has not carried out yet. Until the transport has done so,
  /// its changes do not count as a user's, and the pending state counts as the transport's state. Otherwise a
  /// stop that follows a start at once would be lost, and the start would count as a user's.
  private var pending: Pending?

  private struct Pending: BitwiseCopyable {
    let starts: Bool
    /// The microseconds for which we still expect an answer from JACK. A start may wait before JACK is asked
    /// for it.
    var left = TransportLimits.answerMicros
    var hasMoved = false

    init(starts: Bool, isLate: Bool, _ now: borrowing CycleContext) {
      self.starts = starts
      guard starts, isLate else { return }
      let ahead = max(0, min(now.notBefore - now.heard.start, LaunchSettings.longestPeersWait))
      left += ahead + Double(now.settings.launch.longestWait.count)
    }
  }

  /// Whether the session started the transport, and no stop has come since then.
  private(set) var isObeying = false
  /// Whether another `HostSync` ran before, and this one has seen no cycle in real time yet.
  private var isBack = false

  /// Whether the session plays, or will play, because of our proposal.
  var isOurs: Bool { proposedStart && !isObeying }

  init() {}

  /// Goes on after tactus has left JACK, for instance because tactus was frozen. A transport that still rolls
  /// is no user's start, so it must not start a session that has stopped meanwhile. The old client may have
  /// seen that stop without carrying it out, so the stop counts as not seen.
  init(after last: StartStop) {
    guard last.wasRunning || last.pending != nil else { return }
    self = last
    if pending != nil { (wasRunning, wasPlaying) = (true, true) }
    pending = nil
    command = SessionCommand()
    isObeying = true
    isBack = true
  }

  /// Returns a proposal if the transport has started or stopped, and the session did not ask for it. A start
  /// that waits is proposed with its beat, so that peers start on the same beat. If that beat changes, the
  /// start is proposed with the new beat. While the server freewheels nothing is sent, and the session cannot
  /// start or stop an export; changes from this time take effect when time is real again. If sync is off, our
  /// own state in the session still follows the transport, unseen by peers, so that it is right when sync is
  /// switched on.
  mutating func follow(_ now: borrowing CycleContext, startsAt target: Beats?) -> Proposal? {
    guard !now.isFreewheeling else { return nil }
    var runs = true
    if case .stopped = now.transport.state { runs = false }
    // A transport that stands may be that of another server, so it is no user's stop.
    if isBack, !runs { self = StartStop() }
    isBack = false
    let isChange = isOthers(runs, cycleMicros: now.cycleMicros)
    if isChange, !runs { isObeying = false }
    let taken = now.startStopsTaken
    let number = proposedNumber ?? taken
    let isAnswered = Int32(bitPattern: taken &- number) >= 0
    let stopsLater = stopsLater(now)
    let isPlaying = now.session.isPlaying || stopsLater
    guard isChange, (isAnswered ? isPlaying : proposedStart) != runs else {
      if isAnswered { obey(now.settings.syncsStartStop ? isPlaying : nil, runs: runs, now) }
      guard isAnswered, isPlaying, isMoved(now, to: target) else { return nil }
      return propose(now, runs: true, startsAt: target, number: number)
    }
    return propose(now, runs: runs, startsAt: target, number: number)
  }

  /// Whether a peer has set a later time for its stop.
  private func stopsLater(_ now: borrowing CycleContext) -> Bool {
    guard now.isRolling, wasPlaying == true else { return false }
    let left = Double(now.session.timeOfPlaying.count) - now.heard.start
    return left > 0 && left < LaunchSettings.longestPeersWait
  }

  /// Whether the start that we proposed now waits for another beat. Also true if a peer started, and the user
  /// does not wait for the peer's time.
  private mutating func isMoved(_ now: borrowing CycleContext, to target: Beats?) -> Bool {
    guard case .starting = now.transport.state, let target else { return false }
    guard isObeying else { return proposedStart && target != startBeat }
    let first = startBeat ?? target
    startBeat = first
    guard target != first else { return false }
    return now.grid.time(of: target.value) < now.notBefore - now.grid.beatMicros
  }

  private mutating func propose(
    _ now: borrowing CycleContext, runs: Bool, startsAt target: Beats?, number: UInt32
  )
    -> Proposal
  {
    proposedNumber = number &+ 1
    isObeying = false
    (proposedStart, wasPlaying) = (runs, runs)
    startBeat = runs ? target : nil
    var due = now.heard.start
    // A start that waits for nothing plays at once; its target is only the nearest beat.
    if let target, now.settings.launchStep > .zero { due = max(due, now.grid.time(of: target.value)) }
    return Proposal(.playing(runs), at: Micros(rounding: due), number: number &+ 1)
  }

  /// Returns whether a user or another client has started or stopped the transport.
  private mutating func isOthers(_ runs: Bool, cycleMicros: Double) -> Bool {
    let isChange = runs != wasRunning
    wasRunning = runs
    guard let now = pending else { return isChange }
    if isChange { pending?.hasMoved = true }
    pending?.left -= cycleMicros
    if isChange, runs == now.starts {
      pending = nil
    } else if now.left <= 0 {
      pending = nil
      return (isChange || now.hasMoved) && runs != now.starts
    }
    return false
  }

  /// Obeys a change of the session, unless the transport has already made the same change. nil: sync is off.
  private mutating func obey(_ isPlaying: Bool?, runs: Bool, _ now: borrowing CycleContext) {
    defer { wasPlaying = isPlaying }
    guard let isPlaying, let wasPlaying, wasPlaying != isPlaying, isPlaying != (pending?.starts ?? runs)
    else {
      return
    }
    command.starts = isPlaying
    pending = Pending(starts: isPlaying, isLate: now.asksLate, now)
    isObeying = isPlaying
    startBeat = nil
    command.number &+= 1
  }

  /// Expects a restart of the transport. JACK let a start roll too early, and the control thread stops the
  /// transport, locates it back and starts it again. The session has this start already.
  mutating func expectRestart(_ now: borrowing CycleContext) {
    pending = Pending(starts: true, isLate: true, now)
  }

  mutating func report(into report: inout Report) {
    report.startStop = command
    report.isStartOurs = isOurs
    report.startStopState = self
  }
}
