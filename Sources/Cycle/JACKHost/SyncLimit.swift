// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import CTactusJACK
import HostSync
import TactusChoices

/// JACK's timeout for slow clients that hold a start: one number for the whole server. A start that we hold
/// must be over by then. But a program that never gets ready delays all others for that time, so we keep the
/// usual limit wherever it suffices. [control]
struct SyncLimit {
  private let client: OpaquePointer
  let implementation = JACKImplementation.loaded
  /// The limit that we set; nil: the usual one.
  private var told: Micros?

  init(client: OpaquePointer) { self.client = client }

  /// How long JACK waits for another slow client.
  var present: Micros {
    let wanted = told ?? implementation.usualSyncLimit
    return implementation.longestHold.map { min($0, wanted) } ?? wanted
  }

  /// Sets the limit that these settings need. Call it before asking for a start: JACK reads the number once,
  /// when the start begins. `beatMicros`: the session's beat, which the last cycle may not have seen yet.
  mutating func follow(_ report: Report, _ choices: Settings, beatMicros: Double) {
    let usual = implementation.usualSyncLimit
    let needed = report.syncLimit(for: choices, beatMicros: beatMicros, usual: usual)
    guard needed != told else { return }
    told = needed
    tell(needed ?? usual)
  }

  /// Sets our limit again after another tactus left and restored the usual one.
  func tellAgain() {
    if let told { tell(told) }
  }

  /// Sets our limit again after another client has set a shorter one.
  func insist() { tell(told ?? implementation.usualSyncLimit) }

  /// Restores the usual limit when we leave.
  func giveBack() {
    if told != nil { tell(implementation.usualSyncLimit) }
  }

  private func tell(_ limit: Micros) {
    jack_set_sync_timeout(client, implementation.syncTimeout(limit))
  }
}
