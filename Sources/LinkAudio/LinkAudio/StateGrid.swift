// SPDX-License-Identifier: GPL-2.0-or-later
package import LinkAudioPath
package import LinkBeatMath

extension SessionGrid {
  /// Makes the grid of a captured state, for the audio that is sent and played in this period. Capture a new
  /// state in each period: an old state would give wrong stamps.
  ///
  /// Thread-safe: yes. Real-time-safe: yes.
  @_noLocks @_noAllocation
  package init(_ state: SessionState) {
    // The time origin of a client's timeline is the time of the session's beat 0 (facts: link 7.5).
    self.init(
      session: state.session, origin: Double(state.timeline.timeOrigin.count),
      beatMicros: Double(state.timeline.tempo.clamped.microsPerBeat))
  }
}
