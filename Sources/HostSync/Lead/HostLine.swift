// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// Where a leading host is: a smooth line through the beats that it shows, cycle by cycle, at the tempo that it shows.
///
/// What is shown jitters by a tick and by the clock's own noise, and sometimes it is no measurement at all: a master
/// that was late shows the bar of the cycle before (facts: jack 5), a locate shows garbage for a cycle. So the line
/// is only pulled towards what is near to it, and what is far begins a new line when it shows three times the same.
///
/// The line does not know the session. What the session does meanwhile, a correction above all, is in no average.
struct HostLine: BitwiseCopyable {
  /// Averaging of the host's jitter, and of its crystal, in microseconds. Ticks and cycles may beat against each other
  /// for a second; the first look at a line, or at a new tempo, is shorter.
  static let averagingTime: Double = 1e6
  static let measuringTime: Double = 250_000
  private static let firstLook: Double = 100_000
  private static let learningTime: Double = 10e6
  /// A new line, or a new tempo, says nothing about the crystal for so long.
  private static let settlingTime: Double = 1e6
  /// Besides a tick, so much is jitter; beyond it the host was late, or is elsewhere.
  static let jitter: Double = 1_000
  private static let confirmations: Int = 3
  private static let mostStrays: Int = 12
  /// A clock's tempo may be shown to a tenth only; no crystal is that far off.
  private static let largestDrift: Double = 0.005
  /// A pause in what is shown that long begins a new line.
  private static let longestGap: Double = 2e6
  private static let smallestStep: Double = HostFollower.smallestStep

  /// As shown, within Link's range; 0 while there is none.
  private(set) var tempo = 0.0
  /// How much faster than it shows the host is, on Link's clock; as it was lately, since a step leans it for a while.
  private(set) var drift = 0.0
  private var leaning = 0.0
  /// The host's beat at the moment looked at last.
  private(set) var beat = 0.0
  /// A tick of the host's, in microseconds: finer than that nobody knows where it is.
  private(set) var tick = 0.0
  /// Microseconds over which the line has been averaged so far; 0: there is none.
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

  /// There is no host any more; the crystal is the sound card's, no matter who comes next.
  mutating func forget() {
    tempo = 0
    tempoBefore = 0
    lastReading = 0
    rest()
  }

  /// The host stands.
  mutating func rest() { averaged = 0 }

  /// True if the host has another tempo than before. It counts when two readings in a row nearly agree: memory that was
  /// never written shows for one cycle.
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

  /// What a rolling host shows for this moment. Not `isSound`: a cycle whose time, or the one before whose, was lost.
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
    // A tempo that changes did so somewhere in the cycle.
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

  /// Three times in a row the same elsewhere, or nowhere for long: the host has moved.
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
