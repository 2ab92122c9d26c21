// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Glibc
import Linux
import Synchronization

/// Leaves a server, on a thread of its own: one that does not answer never lets us go. [control]
///
/// Until it is done nothing else may be asked of libjack, which knows one server at a time.
final class Departure: @unchecked Sendable {
  private let client: RunningClient
  /// What the client's audio thread holds stays as long as it does.
  private let exchange: AudioExchange
  private let done = Atomic(false)

  init(_ client: RunningClient, exchange: AudioExchange) {
    self.client = client
    self.exchange = exchange
    if let thread = try? Thread("departure", { [self] in run() }) { thread.detach() } else { run() }
  }

  var isDone: Bool { done.load(ordering: .acquiring) }

  /// Waits for it, but not for ever.
  func wait(atMost limit: Micros) {
    let end = HostClock.micros() + limit
    while !isDone, HostClock.micros() < end { usleep(1_000) }
  }

  private func run() {
    client.leave()
    done.store(true, ordering: .releasing)
  }
}
