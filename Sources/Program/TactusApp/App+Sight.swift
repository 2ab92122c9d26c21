// SPDX-License-Identifier: GPL-2.0-or-later
import Link
import LinkSession
import TactusJACK
import TactusSurface
import TactusSync
import TactusTerminal

extension App {
  /// The state of this moment that the news compares with the state of the last poll.
  func sight(
    of host: JACKHost, _ report: Report, _ session: SessionSnapshot, _ state: SurfaceState, peers: String
  ) -> StudioNews.Sight {
    StudioNews.Sight(
      peerCounts: desk.takePeerCounts() + [session.peerCount], isResting: !presence.isActive,
      isMute: link.isMute, failure: link.isMute ? link.diagnostics.failure.map { "\($0)" } : nil,
      movedLaunches: report.launch.moved, isGivenUp: report.launch.isGivenUp,
      corrections: host.plan.corrections, leftLate: host.plan.leftLate, cutStarts: report.launch.cutStarts,
      standsStill: report.standsStill, isMasterSenseless: report.master.isSenseless,
      waitsInVain: state.choices.launch.wait == .stopped && state.choices.lead != .link,
      lostMIDI: report.outputs.lostMIDI, unfollowed: unfollowed(session, peers: peers),
      sharesPlay: session.sessionPlays && session.isStartStopSyncEnabled, isWaiting: report.song.isWaiting,
      rollsInExport: report.song.isRolling && exchange.isFreewheeling, midiClock: state.midiClock,
      leavesLoopAlone: transport.song.leavesLoopAlone
    )
  }

  /// A session that plays while tactus does not follow its starts and stops; nil: no peer plays, or
  /// tactus follows.
  func unfollowed(_ session: SessionSnapshot, peers: String) -> StudioNews.UnfollowedPlay? {
    guard session.sessionPlays, !session.isStartStopSyncEnabled, session.peerCount > 0 else { return nil }
    let key = view == nil ? nil : configuration.keyMap().key(of: "startstop/toggle")
    return .init(
      peers: peers, count: session.peerCount, hint: key?.description ?? "tactus send startstop 1")
  }
}
