// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath

/// A change of the session that the audio thread wants. A proposal is small and contains no references,
/// because it goes through a queue to the network thread.
public struct Proposal: Hashable, Sendable, BitwiseCopyable {
  public enum Change: Hashable, Sendable, BitwiseCopyable {
    /// The tempo, in beats per minute, from `moment` on.
    case tempo(Double)
    /// A move of the session's grid that makes this beat fall on `moment`. It comes from a leader that may
    /// move the grid.
    case forceBeat(Double, quantum: Double)
    case playing(Bool)
  }

  public var change: Change
  /// Link's host time at which the change is heard.
  public var moment: Micros
  /// Whether a leading host or MIDI clock caused the change. A user caused every other change.
  public var isDictated: Bool
  /// The number of this start or stop. `SessionView.startStopsTaken` is the number of the last start or stop
  /// that the session has taken.
  public var number: UInt32

  public init(_ change: Change, at moment: Micros, isDictated: Bool = false, number: UInt32 = 0) {
    self.change = change
    self.moment = moment
    self.isDictated = isDictated
    self.number = number
  }
}

/// The session and a number, as the audio thread gets them.
public struct SessionView: Sendable, BitwiseCopyable {
  public var state: SessionState
  /// The number of our last start or stop that `state` contains.
  public var startStopsTaken: UInt32

  @_noLocks @_noAllocation
  public init(_ state: SessionState, startStopsTaken: UInt32) {
    self.state = state
    self.startStopsTaken = startStopsTaken
  }
}

/// The proposals that wait for the network thread, the oldest first. Only the newest proposal of each kind is
/// kept. If the queue to the network thread is full and refuses a proposal, the proposal is offered once more
/// in the next cycle. So no proposal is lost, however late the network thread reads.
public struct Proposals: BitwiseCopyable {
  /// The number of kinds of changes. Each kind has one slot.
  private static let capacity: Int = 3

  private var slots = InlineArray<3, Proposal>(repeating: Proposal(.playing(false), at: .zero))
  public private(set) var count = 0

  public var first: Proposal? {
    @_noLocks @_noAllocation get { count > 0 ? slots[0] : nil }
  }

  @_noLocks @_noAllocation
  public mutating func removeFirst() {
    if count > 0 { remove(at: 0) }
  }

  mutating func add(_ proposal: Proposal?) {
    guard let proposal else { return }
    for place in 0..<count where slots[place].isSuperseded(by: proposal) {
      remove(at: place)
      break
    }
    assert(count < Self.capacity)
    slots[count] = proposal
    count += 1
  }

  private mutating func remove(at place: Int) {
    count -= 1
    for index in place..<count { slots[index] = slots[index + 1] }
  }
}

extension Proposal {
  fileprivate func isSuperseded(by newer: Proposal) -> Bool {
    switch (change, newer.change) {
    case (.tempo, .tempo), (.forceBeat, .forceBeat), (.playing, .playing): true
    case (.tempo, _), (.forceBeat, _), (.playing, _): false
    }
  }
}

extension SessionState {
  /// Applies a proposal and returns the change to be committed; nil: there is no change. Later proposals
  /// start from this result. So a start that is soon followed by a stop yields two changes, and the second
  /// has the later time: the session drops a start or stop whose time is not later than that of the one
  /// before. [network]
  public mutating func apply(_ proposal: Proposal, at now: Micros) -> SessionChange? {
    apply(proposal)
    let change = change(at: max(now, startStop.timestamp + Micros(1)))
    self = SessionState(
      timeline: timeline, startStop: change?.startStop ?? startStop, isConnected: isConnected,
      session: session)
    return change
  }

  /// Applies the edit that a proposal asks for, before it is committed. [network]
  public mutating func apply(_ proposal: Proposal) {
    switch proposal.change {
    case .tempo(let beatsPerMinute): setTempo(beatsPerMinute, at: proposal.moment)
    case .forceBeat(let beat, let quantum): forceBeat(beat, at: proposal.moment, quantum: quantum)
    case .playing(let isPlaying): setPlaying(isPlaying, at: proposal.moment)
    }
  }
}
