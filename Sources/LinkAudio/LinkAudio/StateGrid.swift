// SPDX-License-Identifier: GPL-2.0-or-later
package import BeatMath
package import LinkAudioPath

extension SessionGrid {
  /// The beats of a captured state, for the audio that is sent and played in this period. Capture a state in
  /// each period, because stamps are only as good as the state.
  ///
  /// Thread-safe: yes. Real-time-safe: yes.
  @_noLocks @_noAllocation
  package init(_ state: SessionState) {
    // A timeline's origin is the session's beat 0 (facts: link 7.5).
    self.init(
      session: state.session, origin: Double(state.timeline.timeOrigin.count),
      beatMicros: Double(state.timeline.tempo.clamped.microsPerBeat))
  }
}
