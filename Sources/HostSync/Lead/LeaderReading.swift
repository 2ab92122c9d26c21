// SPDX-License-Identifier: GPL-2.0-or-later

/// What whoever leads shows for a moment: a timebase master's bar and beat, or what a sequencer's clock amounts to.
enum LeaderReading: BitwiseCopyable {
  case nothing
  /// Strangers write zero bars and NaN (facts: jack 6).
  case nonsense
  /// Beats per minute, the song's beat, and the finest parts of a beat that it can show.
  case shown(tempo: Double, beat: Double, ticksPerBeat: Double)

  init(_ bbt: BBT?) {
    guard let bbt else {
      self = .nothing
      return
    }
    guard let beats = bbt.beats else {
      self = .nonsense
      return
    }
    self = .shown(tempo: bbt.beatsPerMinute, beat: beats, ticksPerBeat: bbt.ticksPerBeat)
  }
}
