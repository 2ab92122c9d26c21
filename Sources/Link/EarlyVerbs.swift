// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath

// The verbs of LinkKit before 2.0: one call each, with a quantum that belongs to the instance. They are made of a
// capture, an edit and a commit; docs/linkkit.md says how.

extension SessionState {
  /// How far from now a tempo may be proposed: roughly "now plus latency". A long buffer may have begun before
  /// now, and a wireless speaker may play two seconds later.
  public static var earliestProposal: Micros {
    @_noLocks @_noAllocation get { Micros(-100_000) }
  }
  public static var latestProposal: Micros {
    @_noLocks @_noAllocation get { Micros(2_000_000) }
  }

  /// Sets the tempo if `time` is not in the past and not far ahead; returns whether it did. [any, real-time-safe]
  @_noLocks @_noAllocation
  public mutating func proposeTempo(_ beatsPerMinute: Double, at time: Micros, now: Micros) -> Bool {
    let distance = time - now
    guard beatsPerMinute == beatsPerMinute, distance >= SessionState.earliestProposal,
      distance <= SessionState.latestProposal
    else { return false }
    setTempo(beatsPerMinute, at: time)
    return true
  }
}

extension Link {
  /// Proposes a tempo from `time` on. False, and nothing happens, if that is in the past or far ahead.
  ///
  /// Thread-safe: yes. Real-time-safe: no, it may wait. For the audio callback there is `AudioLink.proposeTempo`.
  @discardableResult
  public func proposeTempo(_ beatsPerMinute: Double, at time: Micros) -> Bool {
    var isTaken = false
    updateAppState { isTaken = $0.proposeTempo(beatsPerMinute, at: time, now: Link.clock()) }
    return isTaken
  }
}

extension AudioLink {
  /// What beats are read by after the next join or reset; 4 at first, 0 for no grid. Changing it moves nothing.
  ///
  /// Thread-safe: yes. Real-time-safe: yes.
  public var quantum: Double {
    @_noLocks @_noAllocation get { Double(bitPattern: shared.pointee.quantum.load(ordering: .relaxed)) }
    @_noLocks @_noAllocation nonmutating set {
      shared.pointee.quantum.store(newValue.bitPattern, ordering: .relaxed)
    }
  }

  /// Proposes a tempo from `time` on; beats read afterwards follow it. False, and nothing happens, if that is in
  /// the past or far ahead, or if too many commits wait. [audio, real-time-safe]
  @discardableResult
  @_noLocks @_noAllocation
  public func proposeTempo(_ beatsPerMinute: Double, at time: Micros) -> Bool {
    let now = HostClock.micros()
    var state = captureAudioState(at: now)
    guard state.proposeTempo(beatsPerMinute, at: time, now: now) else { return false }
    return commitAudioState(state, at: now)
  }

  /// The beat that is heard at `time`. [audio, real-time-safe]
  @_noLocks @_noAllocation
  public func beatTime(at time: Micros) -> Double {
    let state = captureAudioState()
    return state.beat(at: time, quantum: latch(state))
  }

  /// When `beat` is heard, as long as the tempo stays. [audio, real-time-safe]
  @_noLocks @_noAllocation
  public func hostTime(atBeat beat: Double) -> Micros {
    let state = captureAudioState()
    return state.time(atBeat: beat, quantum: latch(state))
  }

  /// Wishes for `beat` at `time`. Returns the beat that it really is: with peers, up to a quantum less, so that
  /// the wished beat comes up in phase. [audio, real-time-safe]
  @_noLocks @_noAllocation
  public func resetBeatTime(_ beat: Double, at time: Micros) -> Double {
    let now = HostClock.micros()
    var state = captureAudioState(at: now)
    let quantum = quantum
    own.pointee.latchedQuantum = quantum
    state.requestBeat(beat, at: time, quantum: quantum)
    commitAudioState(state, at: now)
    return captureAudioState(at: now).beat(at: time, quantum: quantum)
  }

  /// The phase of a beat on the shared grid, for any quantum, in 0 ..< quantum. [audio, real-time-safe]
  @_noLocks @_noAllocation
  public func phase(ofBeat beat: Double, quantum: Double) -> Double {
    let state = captureAudioState()
    return state.phase(at: state.time(atBeat: beat, quantum: latch(state)), quantum: quantum)
  }

  /// A new quantum counts from the next join on: beats that play do not jump.
  @_noLocks @_noAllocation
  private func latch(_ state: SessionState) -> Double {
    if state.session != own.pointee.latchedSession {
      own.pointee.latchedSession = state.session
      own.pointee.latchedQuantum = quantum
    }
    return own.pointee.latchedQuantum
  }
}
