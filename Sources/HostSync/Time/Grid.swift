// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// The session's beats against Link's host time, with the fractions that the protocol's integers do not have. A change of tempo that waits
/// for its beat is part of it.
struct Grid: Hashable, BitwiseCopyable {
  /// When beat 0 is, in microseconds.
  var origin: Double
  /// Microseconds per beat: whole, as Link's tempo acts. Up to the turn, if there is one.
  var beatMicros: Double
  /// Where the tempo turns; infinity: it does not.
  private(set) var turnTime = Double.infinity
  private var turnBeat = Double.infinity
  /// Microseconds per beat behind the turn.
  private var turnedMicros = 0.0

  init(origin: Double, beatMicros: Double) {
    self.origin = origin
    self.beatMicros = beatMicros
  }

  // `>`, as an infinite time or beat is not behind a turn that there is not.
  func beat(at time: Double) -> Double {
    time > turnTime ? turnBeat + (time - turnTime) / turnedMicros : (time - origin) / beatMicros
  }

  func time(of beat: Double) -> Double {
    beat > turnBeat ? turnTime + (beat - turnBeat) * turnedMicros : origin + beat * beatMicros
  }

  func beatMicros(at time: Double) -> Double { time >= turnTime ? turnedMicros : beatMicros }

  /// Microseconds per beat up to this beat.
  func beatMicros(upTo beat: Double) -> Double { beat > turnBeat ? turnedMicros : beatMicros }

  /// Another tempo from this beat on.
  mutating func turn(to tempo: Tempo, at beat: Double) {
    (turnTime, turnBeat) = (time(of: beat), beat)
    turnedMicros = Double(tempo.clamped.microsPerBeat)
  }

  /// The same from this time on: behind its turn a grid has none.
  func following(_ time: Double) -> Grid {
    guard time > turnTime else { return self }
    return Grid(origin: turnTime - turnBeat * turnedMicros, beatMicros: turnedMicros)
  }

  func later(by micros: Double) -> Grid { Grid(origin: origin + micros, beatMicros: beatMicros) }
}

extension Grid {
  /// A client's timeline has the session's beat 0 as its time origin (facts: link 7.5). A tempo from outside
  /// Link's range is brought into it.
  init(_ timeline: Timeline) {
    self.init(
      origin: Double(timeline.timeOrigin.count), beatMicros: Double(timeline.tempo.clamped.microsPerBeat))
  }
}

/// One port's buffer in this cycle: which beats are heard in it.
struct Window: BitwiseCopyable {
  /// When each frame of the buffer is heard through this port.
  let line: FrameLine
  let grid: Grid
  let frames: Int
  /// What the session's time moved by since the last cycle, in microseconds: events may be late by as much.
  let correction: Double
  /// The session's beat is not where it was expected: boundaries are to be counted again.
  let isJump: Bool
  /// What came before has no time on this line (`Now.isCut`).
  var isCut = false

  /// The same cycle at another port.
  @inline(__always)
  func moved(to line: FrameLine) -> Window {
    Window(
      line: line, grid: grid.following(line.time(atFrame: -0.5)), frames: frames, correction: correction,
      isJump: isJump, isCut: isCut)
  }

  /// An event belongs to the frame nearest to it, so the buffer begins half a frame before its first.
  var firstBeat: Double { grid.beat(at: line.time(atFrame: -0.5)) }

  var endBeat: Double { grid.beat(at: line.time(atFrame: Double(frames) - 0.5)) }

  /// Where a beat lies, with its fraction; may be outside of the buffer.
  func frame(of beat: Double) -> Double { line.frame(at: grid.time(of: beat)) }

  /// The nearest frame to `position`, kept within the buffer from below.
  static func nearest(_ position: Double) -> Int {
    Int(max(0, Int64(flooring: position + 0.5)))
  }
}
