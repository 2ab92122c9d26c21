// SPDX-License-Identifier: GPL-2.0-or-later

/// Where the tactus programs of a session are in the song: at the session's beat `sessionBeat` the song is at
/// its beat `songBeat`.
///
/// While the transport rolls, the song's beat at the session's beat b is songBeat + b - sessionBeat. While
/// the transport stands, the song stands at `songBeat`.
@usableFromInline
package struct SongLine: Hashable, Sendable, BitwiseCopyable {
  /// The session's beat. It may be ahead of the present beat, for a jump that is planned.
  package var sessionBeat: Beats
  /// The beat of the song at `sessionBeat`; the song begins at 0.
  package var songBeat: Beats
  /// The number of beats in a bar, on the machine whose user chose this song line.
  package var beatsPerBar: UInt8
  /// The note value of a beat, on the machine whose user chose this song line: 4 is a quarter.
  package var beatType: UInt8

  /// Makes a song line.
  @_noLocks @_noAllocation
  package init(sessionBeat: Beats, songBeat: Beats, beatsPerBar: UInt8, beatType: UInt8) {
    self.sessionBeat = sessionBeat
    self.songBeat = songBeat
    self.beatsPerBar = beatsPerBar
    self.beatType = beatType
  }

  @_noLocks @_noAllocation
  @usableFromInline
  package static func == (left: SongLine, right: SongLine) -> Bool {
    left.sessionBeat == right.sessionBeat && left.songBeat == right.songBeat
      && left.beatsPerBar == right.beatsPerBar && left.beatType == right.beatType
  }
}

/// A song line as peers share it: in beats of the session, with the ghost time of the user's decision. Of two
/// decisions, the later one wins.
package struct SessionSong: Hashable, Sendable, BitwiseCopyable {
  package var line: SongLine
  /// The ghost time at which the user acted.
  package var timestamp: Micros

  @_noLocks @_noAllocation
  package init(line: SongLine, timestamp: Micros) {
    self.line = line
    self.timestamp = timestamp
  }

  /// Whether this decision replaces `other`. Two users may decide in the same microsecond. Any fixed order of
  /// the two song lines then prevents that the session's programs stay at different places in the song.
  package func overrides(_ other: SessionSong) -> Bool {
    (timestamp, line.sessionBeat, line.songBeat, line.beatsPerBar, line.beatType)
      > (
        other.timestamp, other.line.sessionBeat, other.line.songBeat, other.line.beatsPerBar,
        other.line.beatType
      )
  }
}

extension SessionState {
  /// Where the programs of the session are in the song, in the beats of `timeline`; nil: no program has
  /// decided this yet, or song sync is off.
  package var songLine: SongLine? {
    @_noLocks @_noAllocation get {
      guard var line = storedSong else { return nil }
      line.sessionBeat = line.sessionBeat + timeline.beatOrigin
      return line
    }
  }

  /// Whether both states have the same decision about the song, and the same edited song line.
  @_noLocks @_noAllocation
  func hasSameSong(as other: SessionState) -> Bool {
    guard songDecision == other.songDecision, isSongDecided == other.isSongDecided else { return false }
    guard let line = storedSong, let otherLine = other.storedSong else {
      return (storedSong == nil) == (other.storedSong == nil)
    }
    return line == otherLine
  }

  /// Decides where the song is, in the present beats of `timeline`. Each call is a new decision, even if it
  /// repeats the present song line. Request a beat before this call, because a request renumbers the beats.
  @_noLocks @_noAllocation
  package mutating func setSongLine(_ line: SongLine) {
    var line = line
    line.sessionBeat = line.sessionBeat - timeline.beatOrigin
    storedSong = line
    isSongDecided = true
  }
}
