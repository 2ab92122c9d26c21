// SPDX-License-Identifier: GPL-2.0-or-later

/// What the leader shows for a moment: a timebase master's bar and beat, or what a sequencer's clock amounts to.
struct LeaderReading: BitwiseCopyable {
  enum Shown: BitwiseCopyable {
    case nothing
    /// Strangers write zero bars and NaN (facts: jack 6).
    case nonsense
    /// Beats per minute, the song's beat, and the finest parts of a beat that it can show.
    case beat(Double, tempo: Double, ticksPerBeat: Double)
  }

  var shown: Shown
  /// When that is heard through the physical outputs.
  var heard: Double
  var isRolling: Bool
}

extension LeaderReading.Shown {
  /// `countsQuarters`: its tempo does, whatever its beats are.
  init(_ bbt: BBT?, countsQuarters: Bool = false) {
    guard let bbt else {
      self = .nothing
      return
    }
    guard let beats = bbt.beats else {
      self = .nonsense
      return
    }
    self = .beat(
      beats, tempo: countsQuarters ? bbt.beatsPerMinute : bbt.tempo,
      ticksPerBeat: bbt.ticksPerBeat * bbt.notesPerBeat)
  }
}
