// SPDX-License-Identifier: GPL-2.0-or-later

/// The unit of a timebase master's tempo, if its bars are of other notes than quarters: those notes, or
/// quarters all the same. JACK does not say, and programs do either. The pace of the master's beats shows it;
/// until then its tempo is not read.
struct TempoUnit: BitwiseCopyable {
  /// This number of cycles more must speak for one unit than for the other.
  static let certain: Int = 8
  /// A share of the tempo. Readings beyond it, as after a locate or from a late master, do not count.
  static let tolerance: Double = 0.3
  /// The fewest ticks from which we read a pace, since a master cuts ticks off. A master with coarse ticks
  /// has less than one in a cycle.
  static let leastTicks: Double = 8

  private var lastShown = -Double.infinity
  private var lastBeats = 0.0
  private var lastTime = -Double.infinity
  /// Above 0: the tempo counts quarters.
  private var votes = 0
  private var countsQuarters: Bool?

  /// Reads what the master shows in a cycle that is heard at `time`.
  mutating func shown(_ bbt: BBT?, at time: Double, isRolling: Bool) -> LeaderReading.Shown {
    if bbt != nil {
      // A master that comes back after a longer absence is another one.
      if time - lastShown > HostFollower.moment { self = TempoUnit() }
      lastShown = time
    }
    guard let bbt, let beats = bbt.beats, bbt.notesPerBeat != 1 else {
      // A locate shows nothing for a cycle; the master is the same.
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
