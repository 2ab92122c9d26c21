// SPDX-License-Identifier: GPL-2.0-or-later

/// The unit of a timebase master's tempo, if its beats are other notes than quarters. Some programs count
/// those notes in a minute, others count quarters, and JACK does not define which. The pace of the master's
/// beats shows the unit. Until the unit is known, the master's tempo is not read.
struct TempoUnit: BitwiseCopyable {
  /// The number of votes by which one unit must lead before it counts as known. Each cycle whose pace fits a
  /// unit is a vote for that unit.
  static let certain: Int = 8
  /// The largest difference of a pace from a tempo, as a share of the tempo, at which the pace fits the
  /// tempo. This ignores wrong paces, such as after a locate or from a master that is late.
  static let tolerance: Double = 0.3
  /// The fewest ticks from which we compute a pace, since a master cuts off the fraction of a tick. A master
  /// with coarse ticks has less than one tick in a cycle, so several cycles are needed.
  static let leastTicks: Double = 8

  private var lastShown = -Double.infinity
  private var lastBeats = 0.0
  private var lastTime = -Double.infinity
  /// The number of cycles whose pace fits quarters, minus the number of those whose pace fits the bars'
  /// notes.
  private var votes = 0
  private var countsQuarters: Bool?

  /// Reads the tempo, bar and beat that the timebase master shows in a cycle. The cycle is heard at `time`.
  mutating func shown(_ bbt: BBT?, at time: Double, isRolling: Bool) -> LeaderReading.Shown {
    if bbt != nil {
      // A master that comes back after a long absence counts as another master.
      if time - lastShown > HostFollower.moment { self = TempoUnit() }
      lastShown = time
    }
    guard let bbt, let beats = bbt.beats, bbt.notesPerBeat != 1 else {
      // At a locate the master shows nothing for a cycle, but it is the same master.
      lastTime = -.infinity
      return LeaderReading.Shown(bbt)
    }
    if isRolling {
      examine(at: beats, bbt, at: time)
    } else {
      lastTime = -.infinity
    }
    guard let countsQuarters else { return .nonsense }
    return LeaderReading.Shown(bbt, countsQuarters: countsQuarters)
  }

  private mutating func examine(at beats: Double, _ bbt: BBT, at time: Double) {
    let ticks = (beats - lastBeats) * bbt.notesPerBeat * bbt.ticksPerBeat
    let isFirst = lastTime == -.infinity || time <= lastTime || ticks < 0
    guard isFirst || ticks >= Self.leastTicks else { return }
    if !isFirst { vote((beats - lastBeats) * 60e6 / (time - lastTime), bbt) }
    (lastBeats, lastTime) = (beats, time)
  }

  /// `pace` is the measured pace of the master's beats, in quarters a minute.
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
