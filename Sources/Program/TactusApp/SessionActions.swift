// SPDX-License-Identifier: GPL-2.0-or-later
import Link
import LinkBeatMath
import LinkSession
import Synchronization
import TactusChoices
import TactusJACK
import TactusSurface
import TactusSync

/// Connects the Link session and the audio cycle, which do not know each other. The session's states go to
/// the audio thread, and the audio thread's proposals go to the session.
final class SessionActions: SessionObserver {
  private let exchange: AudioExchange
  /// The session's state as last published, changed by the proposals that came after it.
  private let state: Mutex<SessionState>
  private let dictated = Mutex(Tempo?.none)

  init(exchange: AudioExchange, state: SessionState) {
    self.exchange = exchange
    self.state = Mutex(state)
  }

  /// How soon the network thread looks for proposals. Otherwise Link takes proposals only when the
  /// control thread asks, every 20 ms. That is too late for a hand at a control or for a clock.
  var pace: CommitPace { isHasty.load(ordering: .relaxed) ? .soon : .never }
  private let isHasty = Atomic(false)

  /// Sets whether the network thread must look for proposals often. Returns true if it did not have to
  /// before. [control]
  func hasten(_ isHasty: Bool) -> Bool {
    !self.isHasty.exchange(isHasty, ordering: .relaxed) && isHasty
  }

  /// Passes a new state of the session on to the audio thread. [network]
  func publish(_ snapshot: SessionSnapshot) {
    state.withLock { $0 = snapshot.state }
    exchange.publish(snapshot.state)
  }

  /// Whether this is the tempo that a leading host or MIDI clock dictated last. [any]
  func isDictated(_ tempo: Tempo) -> Bool {
    dictated.withLock { $0?.microsPerBeat == tempo.microsPerBeat }
  }

  /// The next change of the session that the audio thread has proposed; nil: there is none. [network]
  func nextChange() -> SessionChange? {
    while let proposal = exchange.nextProposal() {
      let change = state.withLock { state in
        let change = state.apply(proposal, at: Link.clock())
        if proposal.isDictated { dictated.withLock { $0 = state.timeline.tempo } }
        return change
      }
      if let change { return change }
      exchange.publish(state.withLock { $0 })  // the session has this value already; confirm it all the same
    }
    return nil
  }
}

/// Tells whether the audio thread may propose a change at any moment: the transport starts the session, a
/// host or a MIDI clock leads, or a hand at a JACK client changes the tempo. The first tempo from such a hand
/// still waits up to 20 ms for the control thread.
struct ProposalWatch {
  static let memory = Micros(10_000_000)
  private var requests: UInt64 = 0
  private var lastRequest: Micros?

  mutating func expects(
    leading: Lead, syncsStartStop: Bool, tempoRequests: UInt64, at now: Micros
  ) -> Bool {
    if tempoRequests != requests { lastRequest = now }
    requests = tempoRequests
    return syncsStartStop || leading != .link || lastRequest.map { now - $0 < Self.memory } ?? false
  }
}
