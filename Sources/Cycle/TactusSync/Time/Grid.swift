// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

/// The line that gives each host time the session's beat, with fractions that the protocol's integers lack. A
/// grid may contain one turn: a change of tempo at a later beat.
struct Grid: Hashable, BitwiseCopyable {
  /// The time of beat 0, in microseconds.
  var origin: Double
  /// The microseconds per beat up to the turn. The number is whole, because Link applies a tempo in whole
  /// microseconds.
  var beatMicros: Double
  /// The time at which the tempo changes; infinity: never.
  private(set) var turnTime = Double.infinity
  private var turnBeat = Double.infinity
  /// The microseconds per beat after the turn.
  private var turnedMicros = 0.0

  init(origin: Double, beatMicros: Double) {
    self.origin = origin
    self.beatMicros = beatMicros
  }

  // The comparisons use `>` and not `>=`: without a turn `turnTime` is infinity, and an infinite time or beat
  // must not count as after the turn.
  func beat(at time: Double) -> Double {
    time > turnTime ? turnBeat + (time - turnTime) / turnedMicros : (time - origin) / beatMicros
  }

  func time(of beat: Double) -> Double {
    beat > turnBeat ? turnTime + (beat - turnBeat) * turnedMicros : origin + beat * beatMicros
  }

  func beatMicros(at time: Double) -> Double { time >= turnTime ? turnedMicros : beatMicros }

  /// The microseconds per beat just before `beat`.
  func beatMicros(upTo beat: Double) -> Double { beat > turnBeat ? turnedMicros : beatMicros }

  /// Changes the tempo at `beat`.
  mutating func turn(to tempo: Tempo, at beat: Double) {
    (turnTime, turnBeat) = (time(of: beat), beat)
    turnedMicros = Double(tempo.clamped.microsPerBeat)
  }

  /// Returns the grid as it is from `time` on: without the turn if the turn is over.
  func following(_ time: Double) -> Grid {
    guard time > turnTime else { return self }
    return Grid(origin: turnTime - turnBeat * turnedMicros, beatMicros: turnedMicros)
  }

  func later(by micros: Double) -> Grid { Grid(origin: origin + micros, beatMicros: beatMicros) }
}

extension Grid {
  /// Makes the grid of a client's timeline, whose time origin is the session's beat 0 (facts: link 7.5). A
  /// tempo outside Link's range is clamped to that range.
  init(_ timeline: Timeline) {
    self.init(
      origin: Double(timeline.timeOrigin.count), beatMicros: Double(timeline.tempo.clamped.microsPerBeat))
  }
}

/// A port's buffer in this cycle, with the beats that are heard in it.
struct Window: BitwiseCopyable {
  /// The times at which the buffer's frames are heard through this port.
  let line: FrameLine
  let grid: Grid
  let frames: Int
  /// The microseconds by which the session's time moved since the last cycle. Outputs accept events that are
  /// late by as much.
  let correction: Double
  /// Whether the session's beat is not the expected beat, so that the outputs begin a new count of their
  /// boundaries (the places of clicks, clocks and pulses).
  let isJump: Bool
  /// Whether time is discontinuous at this cycle (`CycleContext.isCut`), so that times of earlier cycles are
  /// not on this line.
  var isCut = false
  /// The beats at which this output's notes are written. `grid` has the session's beats, at which the notes
  /// are played.
  var beats = SwungBeats()

  /// Returns this cycle's window for another port, at which frames are heard at the times of `line`.
  @inline(__always)
  func moved(to line: FrameLine) -> Window {
    Window(
      line: line, grid: grid.following(line.time(atFrame: -0.5)), frames: frames, correction: correction,
      isJump: isJump, isCut: isCut)
  }

  /// Returns this window for notes that are written with this swing.
  @inline(__always)
  func swung(_ swing: Swing, _ beats: inout SwungBeats, _ now: inout OutputContext) -> Window {
    if swing.isStraight, beats.isStraight {
      beats.openStraight()
      return self
    }
    beats.open(self, swing, in: now.song.isRolling || now.song.isWaiting ? now.bars : now.standingBars)
    var window = self
    window.beats = beats
    return window
  }

  /// The time at which a written beat is heard.
  func time(of beat: Double) -> Double { grid.time(of: beats.played(beat)) }

  /// The written beat that is heard at `time`.
  func beat(at time: Double) -> Double { beats.written(grid.beat(at: time)) }

  /// The microseconds per written beat just before `beat`.
  func beatMicros(upTo beat: Double) -> Double {
    grid.beatMicros(upTo: beats.played(beat)) * beats.slope(upTo: beat)
  }

  /// The written beat at the beginning of the buffer. An event belongs to the nearest frame, so a buffer
  /// begins half a frame before its first frame.
  var firstBeat: Double { beat(at: line.time(atFrame: -0.5)) }

  var endBeat: Double { beat(at: line.time(atFrame: Double(frames) - 0.5)) }

  /// The position of a written beat in frames, with a fraction. It may lie outside of the buffer.
  func frame(of beat: Double) -> Double { line.frame(at: time(of: beat)) }

  /// The frame nearest to `position` that is not before the buffer.
  static func nearest(_ position: Double) -> Int {
    Int(max(0, Int64(flooring: position + 0.5)))
  }
}
