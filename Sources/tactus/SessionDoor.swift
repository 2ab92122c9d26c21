// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices
import ControlSurface
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

  /// The control thread takes what was proposed, with the session, every 20 ms; that is too late for a hand or a clock.
  var pace: CommitPace { isHasty.load(ordering: .relaxed) ? .soon : .never }
  private let isHasty = Atomic(false)

  /// Whether a proposal must be looked for soon; true if that has just become so. [control]
  func hasten(_ isHasty: Bool) -> Bool {
    !self.isHasty.exchange(isHasty, ordering: .relaxed) && isHasty
  }

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
        let change = state.take(proposal, at: Link.clock())
        if proposal.isDictated { dictated.withLock { $0 = state.timeline.tempo } }
        return change
      }
      if let change { return change }
      exchange.publish(state.withLock { $0 })  // it is what was proposed already
    }
    return nil
  }
}

/// Whether the audio thread may propose something at any moment: a transport that starts the session, a host or a MIDI
/// clock that leads, or a JACK client with a hand on its tempo. The first tempo of such a hand has the control thread's time.
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
