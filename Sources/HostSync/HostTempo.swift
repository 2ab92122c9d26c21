// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// Which tempo a leading host has: the one that it shows, to the bit, as long as its beats do not pass at another.
///
/// Ardour 7.3 goes on showing the first tempo of a song behind a change of tempo. A shown tempo is believed until a run of
/// beats without a lost cycle is further from it than three times what ticks and jitter could be to blame for, and again
/// as soon as it is a possible reading of the beats. In between the beats have the word, in the roundest number that they
/// can be read as. A new shown tempo is believed at first.
struct HostTempo: BitwiseCopyable {
  /// So long is listened before anything is said about the beats (microseconds).
  static var firstLook: Double { @_noLocks @_noAllocation get { 100_000 } }
  /// A smaller distance than shows in that time does no harm.
  static var longestDoubt: Double { @_noLocks @_noAllocation get { 500_000 } }
  /// How much more than the worst of readings it takes to doubt what is shown.
  static var reluctance: Double { @_noLocks @_noAllocation get { 3 } }
  /// And to read the beats anew.
  static var patience: Double { @_noLocks @_noAllocation get { 2 } }
  /// What a sound card's crystal may be off, with a good margin: that is drift and no tempo.
  static var crystal: Double { @_noLocks @_noAllocation get { 0.0005 } }
  /// A change from one reading of the beats to the next that is no more than this is the same tempo, known better.
  static var refinement: Double { @_noLocks @_noAllocation get { 0.01 } }

  /// Beats a minute; 0 while there is none.
  private(set) var value = 0.0
  private(set) var isBelieved = true
  /// `value` is from the beats, and new in this cycle.
  private(set) var isReadAnew = false
  /// It is what it was, known better.
  private(set) var isRefined = false
  private(set) var run = BeatRun()
  private var shown = 0.0
  private var lastReading = 0.0
  /// What ticks and jitter might be to blame for, as a share of the tempo.
  private var error = Double.infinity

  @_noLocks @_noAllocation
  init() {}

  /// Its beats have just begun to pass otherwise than it says: where it is will be known when its tempo is.
  var isDoubtful: Bool {
    @_noLocks @_noAllocation get {
      run.looks < 3
        || isBelieved && run.length < Self.longestDoubt && abs(run.tempo / value - 1) > error + Self.crystal
    }
  }

  /// Known so well that what is left may be the host's crystal.
  var isFirm: Bool {
    @_noLocks @_noAllocation get { isBelieved || run.length > BeatRun.longest / 2 }
  }

  /// There is no host any more.
  @_noLocks @_noAllocation
  mutating func forget() { self = HostTempo() }

  /// The host stands.
  @_noLocks @_noAllocation
  mutating func rest() { run.end() }

  /// What is shown in this cycle. It counts when two readings in a row nearly agree: memory that was never written shows
  /// for one cycle.
  @_noLocks @_noAllocation
  mutating func read(_ reading: Double) {
    isReadAnew = false
    isRefined = false
    let isConfirmed = abs(reading - lastReading) <= 0.1 * reading
    lastReading = reading
    guard isConfirmed, abs(reading - shown) >= HostFollower.smallestStep else { return }
    shown = reading
    value = reading
    isBelieved = true
    run.end()
  }

  /// The beat that a rolling host shows, and when it is heard. `drift`: by how much it is known to be faster than it says.
  @_noLocks @_noAllocation
  mutating func listen(_ beat: Double, ticksPerBeat: Double, at now: Double, isSound: Bool, drift: Double) {
    guard value > 0 else { return }
    guard isSound else {
      // The host's frames stood still in a lost cycle: nothing to doubt it for.
      if isBelieved { run.end() }
      return
    }
    let period = 60e6 / value
    let tick = period / ticksPerBeat
    run.add(beat, at: now, tick: tick, period: period)
    error = run.looks < 3 ? .infinity : (BeatRun.jitter + tick) / run.length
    guard run.length >= Self.firstLook else { return }
    let heard = run.tempo / (1 + drift)
    let away = abs(heard / value - 1)
    let isNews = away > (isBelieved ? Self.reluctance * error + Self.crystal : Self.patience * error)
    if isNews { choose(heard) }
  }

  /// The host needs a correction anyway: in what is known now, if that is more than when its beats were read.
  @_noLocks @_noAllocation
  mutating func refine(drift: Double) {
    if !isBelieved, run.length >= Self.firstLook { choose(run.tempo / (1 + drift)) }
  }

  @_noLocks @_noAllocation
  private mutating func choose(_ heard: Double) {
    let before = value
    let wasBelieved = isBelieved
    isBelieved = abs(shown - heard) <= error * heard
    value = isBelieved ? shown : Self.roundest(heard, within: error * heard / 2)
    isReadAnew = true
    isRefined = !wasBelieved && abs(value / before - 1) <= Self.refinement
  }

  /// The number with the fewest decimals that is no further than that from `value`.
  @_noLocks @_noAllocation
  static func roundest(_ value: Double, within distance: Double) -> Double {
    var scale = 1.0
    while scale < 1e4 {
      let rounded = Double(Int64(rounding: value * scale)) / scale
      if abs(rounded - value) <= distance { return rounded }
      scale *= 10
    }
    return Double(Int64(rounding: value * scale)) / scale
  }
}
