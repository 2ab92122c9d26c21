// SPDX-License-Identifier: GPL-2.0-or-later
package import LinkBeatMath
import TactusChoices

extension SongLine {
  /// A rolling song begins on a 32nd of the session. The line of a standing song, whose session beat means
  /// nothing, has its origin between two 32nds, which tells the kinds apart.
  static let betweenSteps = ThirtySeconds.beats(1) / 2

  var origin: Double { (sessionBeat - songBeat).value }

  /// Whether this is the line of a rolling song.
  var isRolling: Bool { abs(origin - origin(grain: 1)) < Self.betweenSteps / 2 }

  /// The session's beat of the song's beginning, as a machine with this grain of bars can have it.
  func origin(grain: Int64) -> Double {
    ThirtySeconds.beats(ThirtySeconds.nearest(to: origin, grain: grain))
  }

  /// Whether the session shows this line as `other`, whose beats it may have rounded.
  func isSame(as other: SongLine) -> Bool {
    songBeat == other.songBeat && abs((sessionBeat - other.sessionBeat).value) < 0.001
  }
}

// MARK: decisions

extension SongLine {
  init(_ meter: Meter, on sessionBeat: Double, at beat: Double) {
    self.init(
      sessionBeat: Beats(sessionBeat), songBeat: Beats(beat), beatsPerBar: UInt8(clamping: meter.beatsPerBar),
      beatType: UInt8(clamping: meter.beatType))
  }

  /// The line of the rolling song. The song has no beats before its first.
  static func rolling(_ meter: Meter, _ now: Report) -> SongLine {
    let beat = max(0, Double(Int64(flooring: now.sessionBeat - now.songOrigin)))
    return SongLine(meter, on: now.songOrigin + beat, at: beat)
  }

  /// The line of the song that stands at `beat`.
  static func standing(_ meter: Meter, at beat: Double, _ now: Report) -> SongLine {
    let origin = ThirtySeconds.beats(ThirtySeconds.before(now.sessionBeat - beat)) + betweenSteps
    return SongLine(meter, on: origin + beat, at: beat)
  }
}

// MARK: what `SongSync` takes and returns

extension SongSync {
  /// The session's line, and the number of the decision that made it.
  package struct Shared: Sendable {
    package var line: SongLine?
    package var decision: UInt64

    package init(_ line: SongLine?, decision: UInt64) {
      (self.line, self.decision) = (line, decision)
    }
  }

  package enum Step: Equatable, Sendable {
    case nothing
    case command(TransportCommand)
    /// Make this line the session's newest decision.
    case decide(SongLine)
  }
}
