// SPDX-License-Identifier: GPL-2.0-or-later

/// The leader's position at one moment. The leader is a timebase master or a sequencer with its MIDI clock.
struct LeaderReading: BitwiseCopyable {
  enum Shown: BitwiseCopyable {
    case nothing
    /// The master's values make no sense: some clients write zero bars and NaN (facts: jack 6).
    case nonsense
    /// The song's beat, the tempo in beats per minute, and the leader's resolution in ticks per beat.
    case beat(Double, tempo: Double, ticksPerBeat: Double)
  }

  var shown: Shown
  /// The time at which the cycle of this reading is heard through the physical outputs.
  var heard: Double
  var isRolling: Bool
}

extension LeaderReading.Shown {
  /// `countsQuarters`: the tempo is in quarters a minute, whatever notes the beats are.
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
