// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath

/// What the audio thread wants changed in the session. Small and flat, for a queue to the network thread.
public struct Proposal: Hashable, Sendable, BitwiseCopyable {
  public enum Change: Hashable, Sendable, BitwiseCopyable {
    /// Beats per minute from the moment on.
    case tempo(Double)
    /// The session's grid moves so that this beat falls on the moment: for whoever is the clock.
    case forceBeat(Double, quantum: Double)
    case playing(Bool)
  }

  public var change: Change
  /// Link's host time at which it is heard.
  public var moment: Micros

  @_noLocks @_noAllocation
  public init(_ change: Change, at moment: Micros) {
    self.change = change
    self.moment = moment
  }
}

extension SessionState {
  /// The edit that a proposal asks for, before it is committed. [network]
  public mutating func apply(_ proposal: Proposal) {
    switch proposal.change {
    case .tempo(let beatsPerMinute): setTempo(beatsPerMinute, at: proposal.moment)
    case .forceBeat(let beat, let quantum): forceBeat(beat, at: proposal.moment, quantum: quantum)
    case .playing(let isPlaying): setPlaying(isPlaying, at: proposal.moment)
    }
  }
}
