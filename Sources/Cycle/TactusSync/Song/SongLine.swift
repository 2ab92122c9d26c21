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

// MARK: what a report shows

extension SongSync {
  /// Where the song is. A rolling song is at the session's beat minus `origin`.
  enum Place: Equatable {
    case standing(at: Double)
    case rolling(origin: Double)

    var isRolling: Bool { if case .rolling = self { true } else { false } }

    /// Whether `line` is none for this place, and the place is not merely the song's beginning.
    func isUnknown(to line: SongLine?) -> Bool {
      switch self {
      case .rolling: line?.isRolling != true
      case .standing(let beat): line == nil && beat > 0
      }
    }
  }
}

extension Report {
  /// The longest time between two looks at a cycle. After a longer gap we do not know who moved the song.
  private static let longestGap = 250_000.0
  /// The largest distance of a standing transport from its line, in frames. A place is a whole frame, and
  /// another machine's frames are at other places.
  private static let nearFrames = 2.0

  /// Whether the session's beats have jumped since `last`, or something happened that we did not see.
  func isBreak(since last: Report) -> Bool {
    moment.session != last.moment.session
      || moment.heard.start - last.moment.heard.start > Self.longestGap
      || abs(sessionBeat - last.sessionBeat(at: moment.heard.start)) > 0.25
  }

  /// Whether the start that has just begun to roll was a user's of this machine.
  func isStart(ofOurs plan: TransportPlan) -> Bool {
    isStartOurs || plan.choices.launch.wait == .stopped && plan.announcement.isOurs
  }

  func areNear(_ beat: Double, _ other: Double) -> Bool {
    abs(beat - other) * moment.beatMicros <= Self.nearFrames * 1e6 / Double(moment.sampleRate)
  }
}

// MARK: what `SongSync` takes and returns

extension SongSync {
  /// The session's line, and the number of the decision that made it.
  package struct Shared: Sendable {
    package var line: SongLine?
    package var decision: UInt64
    /// Whether no other program is in the session. Then no song rolls on the session's line.
    package var isAlone = false

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
