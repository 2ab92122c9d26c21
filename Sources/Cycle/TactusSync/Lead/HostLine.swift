// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// The position of a leading host: a smooth line through the beats that the host shows in each cycle, at the
/// tempo that the host shows.
///
/// The positions that a host shows jitter by a tick and by the clock's noise. Some are wrong: a master that
/// was late shows the bar of the cycle before (facts: jack 5), and a locate shows garbage for a cycle. So
/// only positions near the line change the line. Positions far from the line begin a new line when three of
/// them agree.
///
/// The line is computed without the session, so moves and corrections of the session affect no average.
struct HostLine: BitwiseCopyable {
  /// The times, in microseconds, over which positions are averaged. `averagingTime` removes the host's
  /// jitter: the error from coarse ticks may take a second to repeat. After `measuringTime` a distance may be
  /// corrected. `firstLook` is the time for a new line or a new tempo, `learningTime` the time for the
  /// crystal's drift.
  static let averagingTime: Double = 1e6
  static let measuringTime: Double = 250_000
  private static let firstLook: Double = 100_000
  private static let learningTime: Double = 10e6
  /// The microseconds after a new line or a new tempo in which the host's positions say nothing about the
  /// crystal's drift.
  private static let settlingTime: Double = 1e6
  /// The jitter of a host in microseconds, in addition to one tick. A position that is farther from the line
  /// was shown too late, or the host has jumped.
  static let jitter: Double = 1_000
  private static let confirmations: Int = 3
  private static let mostStrays: Int = 12
  /// The largest drift, as a share of the tempo. Crystals drift less, but a host may round the tempo that it
  /// shows to a tenth of a beat per minute.
  private static let largestDrift: Double = 0.005
  /// The longest pause between two readings of one line, in microseconds. After a longer pause a new line
  /// begins.
  private static let longestGap: Double = 2e6
  private static let smallestStep: Double = HostFollower.smallestStep

  /// The tempo that the host shows, within Link's range; 0: there is none.
  private(set) var tempo = 0.0
  /// The share by which the host runs faster than `tempo` on Link's clock. It is the average of `leaning`,
  /// because a step in the host's beats disturbs `leaning` for a while.
  private(set) var drift = 0.0
  private var leaning = 0.0
  /// The host's beat at the last reading.
  private(set) var beat = 0.0
  /// The length of the host's tick in microseconds: the host's position is not known more exactly.
  private(set) var tick = 0.0
  /// The microseconds over which the line has been averaged until now; 0: there is no line.
  private(set) var averaged = 0.0

  private var moment = 0.0
  private var tempoBefore = 0.0
  private var lastReading = 0.0
  private var learnsFrom = 0.0
  private var strays = 0
  private var agreeing = 0
  private var firstStray = 0.0

  private let jitter: Double

  init(jitter: Double = Self.jitter) { self.jitter = jitter }

  /// Whether the line was averaged for long enough that it may correct the session.
  var isMeasured: Bool { averaged >= Self.measuringTime }

  /// The tempo that the session needs to stay with the host.
  var pace: Double { tempo * (1 + drift) }

  /// Forgets the host. The drift stays: it is the drift of the sound card, which the next host shares.
  mutating func forget() {
    tempo = 0
    tempoBefore = 0
    lastReading = 0
    rest()
  }

  /// Ends the line. The next position of the host begins a new line.
  mutating func rest() { averaged = 0 }

  /// Reads a tempo; returns true if the tempo is new. A tempo counts only when two readings in a row nearly
  /// agree, because uninitialised memory may be shown for one cycle.
  mutating func readTempo(_ reading: Double) -> Bool {
    let isConfirmed = abs(reading - lastReading) <= 0.1 * reading
    lastReading = reading
    tempoBefore = tempo
    guard isConfirmed, abs(reading - tempo) >= Self.smallestStep else { return false }
    tempo = reading
    averaged = min(averaged, Self.firstLook)
    learnsFrom = .infinity
    return true
  }

  /// Follows the beat that a rolling host shows for the time `now`. `isSound` is false if this
  /// cycle's time, or the time of the cycle before, cannot be trusted.
  mutating func follow(_ shown: Double, ticksPerBeat: Double, at now: Double, isSound: Bool) {
    guard tempo > 0 else { return }
    let elapsed = now - moment
    let beatMicros = 60e6 / tempo
    moment = now
    tick = beatMicros / ticksPerBeat
    guard averaged > 0, elapsed > 0, elapsed < Self.longestGap else {
      begin(shown, averaged: 1)
      return
    }
    // The tempo changed at an unknown time within the cycle, so take the mean of both tempos.
    let tempoMeanwhile = tempoBefore > 0 ? (tempoBefore + tempo) / 2 : tempo
    beat += elapsed * tempoMeanwhile * (1 + leaning) / 60e6
    guard isSound else { return }
    let away = (shown - beat) * beatMicros
    if isStray(away) {
      if hasMoved(away) { begin(shown, averaged: elapsed) }
      return
    }
    strays = 0
    agreeing = 0
    averaged = min(averaged + elapsed, Self.averagingTime)
    beat += away / beatMicros * min(1, elapsed / averaged)
    if learnsFrom > now + Self.settlingTime { learnsFrom = now + Self.settlingTime }
    guard now >= learnsFrom else { return }
    let learned = leaning + away * elapsed / (Self.averagingTime * Self.learningTime)
    leaning = min(Self.largestDrift, max(-Self.largestDrift, learned))
    drift += (leaning - drift) * min(1, elapsed / Self.learningTime)
  }

  private mutating func begin(_ shown: Double, averaged: Double) {
    beat = shown
    self.averaged = min(max(1, averaged), Self.firstLook)
    strays = 0
    agreeing = 0
    learnsFrom = .infinity
  }

  private func isStray(_ away: Double) -> Bool { abs(away) > jitter + tick }

  /// Returns whether the host has jumped: three positions in a row agree on another place, or many positions
  /// in a row are far from the line.
  private mutating func hasMoved(_ away: Double) -> Bool {
    strays += 1
    if agreeing > 0, !isStray(away - firstStray) {
      agreeing += 1
    } else {
      agreeing = 1
      firstStray = away
    }
    return agreeing >= Self.confirmations || strays >= Self.mostStrays
  }
}
