// SPDX-License-Identifier: GPL-2.0-or-later
internal import LinkSession
import Synchronization

/// What any thread, the audio thread too, may ask without waiting.
final class LinkStatus: Sendable {
  let isEnabled = Atomic(false)
  let isActive = Atomic(true)
  let isStartStopSyncEnabled = Atomic(false)
  let peerCount = Atomic(0)
  let isConnected = Atomic(false)
  /// On the network it would be, and is not: `Diagnostics.failure` says why.
  let isMute = Atomic(false)

  func update(_ snapshot: SessionSnapshot) {
    peerCount.store(snapshot.peerCount, ordering: .relaxed)
    isConnected.store(snapshot.isEnabled && snapshot.peerCount > 0, ordering: .relaxed)
  }
}
