// SPDX-License-Identifier: GPL-2.0-or-later
import LinkSession
import TerminalView

extension App {
  /// The peers' play that tactus does not follow; nil: no peer plays, or tactus shares starts and stops.
  func unfollowed(_ session: SessionSnapshot, peers: String) -> StudioNews.UnfollowedPlay? {
    guard session.sessionPlays, !session.isStartStopSyncEnabled, session.peerCount > 0 else { return nil }
    let key = view == nil ? nil : configuration.keyMap().key(of: "startstop/toggle")
    return .init(
      peers: peers, count: session.peerCount, hint: key?.description ?? "tactus send startstop 1")
  }
}
