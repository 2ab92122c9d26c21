// SPDX-License-Identifier: GPL-2.0-or-later

/// What a timebase master's tempo counts whose bars are of other notes than quarters: those notes, or quarters all the same. JACK does not
/// say, and programs do either; how fast its beats go by does. Until that is seen, nothing is read.
struct TempoUnit: BitwiseCopyable {
  /// So many cycles more must speak for one than for the other.
  static let certain: Int = 8
  /// Ticks are cut off, and a cycle has few of them; a locate or a late master is no word at all.
  static let tolerance: Double = 0.3

  private var lastBeats = 0.0
  private var lastTime = -Double.infinity
  /// Above 0: quarters.
  private var votes = 0
  private var countsQuarters: Bool?

  /// What the master shows, of a cycle that is heard at this time.
  mutating func shown(_ bbt: BBT?, at time: Double, isRolling: Bool) -> LeaderReading.Shown {
    guard let bbt, let beats = bbt.beats, bbt.notesPerBeat != 1 else {
      self = TempoUnit()
      return LeaderReading.Shown(bbt)
    }
    if isRolling {
      vote((beats - lastBeats) * 60e6 / (time - lastTime), bbt)
      (lastBeats, lastTime) = (beats, time)
    } else {
      lastTime = -.infinity
    }
    guard let countsQuarters else { return .nonsense }
    return LeaderReading.Shown(bbt, countsQuarters: countsQuarters)
  }

  /// `pace`: quarters a minute.
  private mutating func vote(_ pace: Double, _ bbt: BBT) {
    let (quarters, notes) = (bbt.beatsPerMinute, bbt.tempo)
    if abs(pace - quarters) < Self.tolerance * quarters {
      votes = min(Self.certain, votes + 1)
    } else if abs(pace - notes) < Self.tolerance * notes {
      votes = max(-Self.certain, votes - 1)
    }
    if abs(votes) == Self.certain { countsQuarters = votes > 0 }
  }
}
