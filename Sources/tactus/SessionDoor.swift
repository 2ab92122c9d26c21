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
  private let dictated = Mutex(Tempo?.none)

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

  /// Whether this is the tempo that a leading host or MIDI clock dictated last. [any]
  func isDictated(_ tempo: Tempo) -> Bool {
    dictated.withLock { $0?.microsPerBeat == tempo.microsPerBeat }
  }

  /// [network]
  func nextChange() -> SessionChange? {
    while let proposal = exchange.nextProposal() {
      let change = state.withLock { state in
        state.apply(proposal)
        if proposal.isDictated { dictated.withLock { $0 = state.timeline.tempo } }
        return state.change(at: Link.clock())
      }
      if let change { return change }
    }
    return nil
  }
}
