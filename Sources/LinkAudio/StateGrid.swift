// SPDX-License-Identifier: GPL-2.0-or-later
public import AudioLanes
public import Link

extension SessionGrid {
  /// The beats of a captured state, for what is sent and played in this period. Capture again in each: stamps are only as good
  /// as the state.
  ///
  /// Thread-safe: yes. Real-time-safe: yes.
  @_noLocks @_noAllocation
  public init(_ state: SessionState) {
    // A timeline has the session's beat 0 as its origin (facts: link 7.5).
    self.init(
      session: state.session, origin: Double(state.timeline.timeOrigin.count),
      beatMicros: Double(state.timeline.tempo.clamped.microsPerBeat))
  }
}
