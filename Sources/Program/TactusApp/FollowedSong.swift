// SPDX-License-Identifier: GPL-2.0-or-later
import Link
import LinkBeatMath
import TactusChoices
import TactusJACK
import TactusSync

/// Keeps JACK's transport at the song's place in the session, and tells the session of decisions here.
/// [control]
struct FollowedSong {
  private var sync = SongSync()
  /// The milliseconds by which the song is ahead of its place in the session, rounded: each new value goes to
  /// all controllers.
  private(set) var offsetMilliseconds = 0.0

  /// Whether a loop is too short to be followed by other machines.
  var leavesLoopAlone: Bool { sync.leavesLoopAlone }

  /// Looks at the last report. While the server freewheels, an export moves the transport.
  mutating func follow(_ host: JACKHost, _ report: Report, in link: Link, isOn: Bool) {
    if link.isSongSyncEnabled != isOn { link.isSongSyncEnabled = isOn }
    guard isOn, host.isRunning, !host.isFreewheeling else {
      self = FollowedSong()
      return
    }
    let state = link.captureAppState()
    // A report of the last session has other beats.
    guard report.moment.session == state.session else { return }
    // HostSync counts beats from the session's beat 0.
    let origin = state.timeline.beatOrigin
    var shared = SongSync.Shared(
      state.songLine.map { $0.moved(by: -origin) }, decision: state.songDecision)
    shared.isAlone = !state.isConnected
    switch sync.next(report, at: Link.clock(), host.plan, shared) {
    case .nothing: break
    case .command(let command): host.command(command)
    case .decide(let line):
      link.updateAppState { $0.setSongLine(line.moved(by: $0.timeline.beatOrigin)) }
    }
    offsetMilliseconds = ((sync.offset(report, shared) ?? 0) / 100).rounded() / 10 + 0
  }
}

extension SongLine {
  fileprivate func moved(by beats: Beats) -> SongLine {
    var line = self
    line.sessionBeat = line.sessionBeat + beats
    return line
  }
}
