// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import LinkBeatMath

/// The timeout after which JACK no longer waits for slow clients that hold a start: one number for the whole
/// server. A start that we hold must end before the timeout. But a program that never gets ready delays all
/// others until the timeout, so we keep the usual limit wherever it suffices. [control]
struct SyncLimit {
  private let client: OpaquePointer
  let implementation = JACKImplementation.loaded
  /// The limit that we have set; nil: the usual limit.
  private var told: Micros?

  init(client: OpaquePointer) { self.client = client }

  /// Sets the limit; nil: the usual limit. Call this before asking for a start: JACK reads the number once,
  /// when the start begins.
  mutating func set(_ needed: Micros?) {
    guard needed != told else { return }
    told = needed
    tell(needed ?? implementation.usualSyncLimit)
  }

  /// Sets our limit again after another tactus left and restored the usual limit.
  func tellAgain() {
    if let told { tell(told) }
  }

  /// Sets our limit again after another client has set a shorter limit.
  func insist() { tell(told ?? implementation.usualSyncLimit) }

  /// Restores the usual limit when we leave.
  func giveBack() {
    if told != nil { tell(implementation.usualSyncLimit) }
  }

  private func tell(_ limit: Micros) {
    jack_set_sync_timeout(client, implementation.syncTimeout(limit))
  }
}
