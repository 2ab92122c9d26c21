// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

extension SongLine {
  /// A rolling song begins on a 32nd of the session. The line of a standing song, whose session beat means
  /// nothing, has its origin between two 32nds, which tells the kinds apart.
  static let standing = ThirtySeconds.beats(1) / 2

  var origin: Double { (sessionBeat - songBeat).value }

  /// Whether this is the line of a rolling song.
  var isRolling: Bool { abs(origin - origin(grain: 1)) < Self.standing / 2 }

  /// The session's beat of the song's beginning, as a machine with this grain of bars can have it.
  func origin(grain: Int64) -> Double {
    ThirtySeconds.beats(ThirtySeconds.nearest(to: origin, grain: grain))
  }

  /// Whether the session shows this line as `other`, whose beats it may have rounded.
  func isSame(as other: SongLine) -> Bool {
    songBeat == other.songBeat && abs((sessionBeat - other.sessionBeat).value) < 0.001
  }
}
