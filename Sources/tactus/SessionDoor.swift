// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import HostSync
import JACKHost
import Link
import LinkSession
import Synchronization

/// Between the Link session and the audio cycle, which do not know each other: states in, proposals out.
final class SessionDoor: AudioDoor {
  private let exchange: AudioExchange
  /// As published last, with the proposals since then worked in.
  private let state: Mutex<SessionState>

  init(exchange: AudioExchange, state: SessionState) {
    self.exchange = exchange
    self.state = Mutex(state)
  }

  let isRunning = true

  /// [network]
  func publish(_ snapshot: SessionSnapshot) {
    state.withLock { $0 = snapshot.state }
    exchange.publish(snapshot.state)
  }

  /// [network]
  func nextChange() -> SessionChange? {
    while let proposal = exchange.nextProposal() {
      let change = state.withLock { state in
        state.apply(proposal)
        return state.change(at: Link.clock())
      }
      if let change { return change }
    }
    return nil
  }
}
