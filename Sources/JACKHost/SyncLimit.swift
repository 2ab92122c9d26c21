// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import CJACK
import Choices
import HostSync

/// How long JACK lets slow clients hold a start: one number for the whole server. A start that we hold must be over by then; and a
/// program that never gets ready keeps everybody waiting for so long, so that it is the usual one wherever that is enough. [control]
struct SyncLimit {
  private let client: OpaquePointer
  let implementation = JACKImplementation.loaded
  /// nil: the usual one.
  private var told: Micros?

  init(client: OpaquePointer) { self.client = client }

  /// How long JACK waits for another slow client.
  var present: Micros {
    let wanted = told ?? implementation.usualSyncLimit
    return implementation.longestHold.map { min($0, wanted) } ?? wanted
  }

  /// Sets the limit that these choices need, before a start is asked for: JACK reads the number once, as the start begins. `beatMicros`: the session's
  /// beat, which the last cycle may not have seen yet.
  mutating func follow(_ report: Report, _ choices: Settings, beatMicros: Double) {
    let usual = implementation.usualSyncLimit
    let needed = report.syncLimit(for: choices, beatMicros: beatMicros, usual: usual)
    guard needed != told else { return }
    told = needed
    tell(needed ?? usual)
  }

  /// Another tactus that left has put the usual number back.
  func tellAgain() {
    if let told { tell(told) }
  }

  /// Another client has set a shorter one.
  func insist() { tell(told ?? implementation.usualSyncLimit) }

  /// We leave.
  func giveBack() {
    if told != nil { tell(implementation.usualSyncLimit) }
  }

  private func tell(_ limit: Micros) {
    jack_set_sync_timeout(client, implementation.syncTimeout(limit))
  }
}
