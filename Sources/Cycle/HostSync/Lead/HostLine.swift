// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// The position of a leading host: a smooth line through the beats that it shows, cycle by cycle, at the
/// tempo that it shows.
///
/// The readings jitter by a tick and by the clock's noise, and some are no measurement at all: a master that
/// was late shows the bar of the cycle before (facts: jack 5), a locate shows garbage for a cycle. So only
/// near readings pull the line. Far ones begin a new line when three of them agree.
///
/// The line does not know the session, so the session's moves and corrections enter no average.
struct HostLine: BitwiseCopyable {
  /// Microseconds of averaging: for the host's jitter (ticks and cycles may beat against each other for a
  /// second), for a measurement that may be corrected by, for the first look at a line or a new tempo, and
  /// for the crystal's drift.
  static let averagingTime: Double = 1e6
  static let measuringTime: Double = 250_000
  private static let firstLook: Double = 100_000
  private static let learningTime: Double = 10e6
  /// Microseconds in which a new line, or a new tempo, says nothing about the crystal.
  private static let settlingTime: Double = 1e6
  /// Microseconds of jitter besides a tick. A reading beyond it was late, or the host is elsewhere.
  static let jitter: Double = 1_000
  private static let confirmations: Int = 3
  private static let mostStrays: Int = 12
  /// A share of the tempo. A clock may show its tempo to a tenth only; no crystal is that far off.
  private static let largestDrift: Double = 0.005
  /// Microseconds. A longer pause in the readings begins a new line.
  private static let longestGap: Double = 2e6
  private static let smallestStep: Double = HostFollower.smallestStep

  /// The tempo as shown, within Link's range; 0: none.
  private(set) var tempo = 0.0
  /// The share by which the host runs faster than `tempo` on Link's clock. It averages `leaning`, which a
  /// step tilts for a while.
  private(set) var drift = 0.0
  private var leaning = 0.0
  /// The host's beat at the last reading.
  private(set) var beat = 0.0
  /// Microseconds of a tick of the host: its position is not known more exactly.
  private(set) var tick = 0.0
  /// Microseconds over which the line has been averaged so far; 0: there is no line.
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

  /// Averaged for long enough to be corrected by.
  var isMeasured: Bool { averaged >= Self.measuringTime }

  /// The tempo that the session needs to stay with the host.
  var pace: Double { tempo * (1 + drift) }

  /// Forgets the host. The drift stays: it is the sound card's, and the next host has the same.
  mutating func forget() {
    tempo = 0
    tempoBefore = 0
    lastReading = 0
    rest()
  }

  /// Ends the line: the host stands.
  mutating func rest() { averaged = 0 }

  /// Reads a tempo; returns true if it is a new one. It counts when two readings in a row nearly agree:
  /// uninitialised memory is shown for one cycle.
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

  /// Follows what a rolling host shows for this time. Not `isSound`: the time of this cycle, or of the one
  /// before, was lost.
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
    // If the tempo changed, it did so somewhere within the cycle.
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

  /// Returns whether the host has moved: three readings in a row agree elsewhere, or many agree nowhere.
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
