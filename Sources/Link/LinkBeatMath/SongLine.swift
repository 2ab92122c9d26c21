// SPDX-License-Identifier: GPL-2.0-or-later

/// Where the tactus programs of a session are in the song: at the session's beat `sessionBeat` the song is at
/// its beat `songBeat`.
///
/// While the transport rolls, the song's beat at the session's beat b is songBeat + b - sessionBeat. While the
/// transport stands, the song stands at `songBeat`.
package struct SongLine: Hashable, Sendable, BitwiseCopyable {
  /// The session's beat. It may lie ahead: a jump that is planned for that beat.
  package var sessionBeat: Beats
  /// The beat of the song at `sessionBeat`; the song begins at 0.
  package var songBeat: Beats
  /// The beats of a bar on the machine that decided.
  package var beatsPerBar: UInt8
  /// The note value of a beat on the machine that decided: 4 is a quarter.
  package var beatType: UInt8

  /// Makes a line.
  @_noLocks @_noAllocation
  package init(sessionBeat: Beats, songBeat: Beats, beatsPerBar: UInt8, beatType: UInt8) {
    self.sessionBeat = sessionBeat
    self.songBeat = songBeat
    self.beatsPerBar = beatsPerBar
    self.beatType = beatType
  }
}
