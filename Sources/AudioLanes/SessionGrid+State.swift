// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
public import LinkAudioPath

extension SessionGrid {
  /// The beats of a captured state: its timeline has the session's beat 0 as its origin (facts: link 7.5).
  @_noLocks @_noAllocation
  public init(_ state: SessionState) {
    self.init(
      session: state.session, origin: Double(state.timeline.timeOrigin.count),
      beatMicros: Double(state.timeline.tempo.clamped.microsPerBeat))
  }
}
