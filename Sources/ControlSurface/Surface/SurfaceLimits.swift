// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices

/// Every bound of the surface, in one place.
enum SurfaceLimits {
  /// Controllers, and as many browsers beside them.
  static let subscribers = 16
  /// Messages that wait for their time; so many of those are whose word may be anybody's, and half as many of one host's.
  static let agenda = 256
  static let agendaOfOthers = 128
  static let horizonSeconds = 60.0
  /// How long a tempo may wait for its bar: one of 64 quarters at 20 BPM takes 192 s.
  static let appointment = Micros(240_000_000)
  /// A subscription without a lease still ends after this long without a word from its host, unless that is paired.
  static let silence = Micros(3_600_000_000)
  /// Changes go to a subscriber at most 50 times a second.
  static let flushInterval = Micros(20_000)
  static let phaseInterval = Micros(33_400)
  static let positionInterval = Micros(100_000)
  static let heartbeatInterval = Micros(1_000_000)
  /// While a controller moves a fader, that fader is not moved back under the finger.
  static let holdOff = Micros(250_000)
  /// A renewed subscription is told everything again, which heals what Wi-Fi lost, but not more often than this.
  static let dumpInterval = Micros(2_000_000)
  /// A tempo asked for is the ground for the next nudge until the session shows it, or so long.
  static let expectation = Micros(2_000_000)
  /// A tap counts from when it was made, if that is not longer ago.
  static let lateTap = Micros(1_000_000)
  /// A hand that bends the beat and says nothing for so long has let go.
  static let longestBend = Micros(20_000_000)
  /// In per cent: less is let go.
  static let leastBend = 0.05
  /// Tempos of a bend that the session does not show yet. A wheel sends some hundreds a second, the session shows each within 0.1 s.
  static let bendsOnTheirWay = 64
  /// As far as a jog wheel moves the session in one go, in microseconds; and less than this no drummer's beat is off.
  static let farthestTurn = 1_000_000.0
  static let leastTurn = 1000.0
  /// Sources whose rates are remembered, and for how long after their last word.
  static let sources = 1024
  static let sourceMemory = Micros(1_000_000)
  /// The same of a port that came back.
  static let regularMemory = Micros(60_000_000)
  /// Datagrams that wait in a line to be looked at, and their bytes with what it takes to keep one.
  static let inbox = 2048
  static let inboxBytes = 2 << 20
  static let letter = 64
  /// What has waited longer is not obeyed any more.
  static let patience = Micros(3_000_000)
  static let errorsPerSecond = 5.0
  /// Bytes told to one host that nobody named and that has not shown that it hears us, for its address may be forged: all values
  /// four times, and then so many for each byte that it sends.
  static let unprovenBytes = 32_768.0
  static let unprovenFactor = 8.0
  /// As much again after an hour.
  static let unprovenPerSecond = unprovenBytes / 3600
  /// What was not told for want of them is tried again so often.
  static let unprovenInterval = Micros(1_000_000)
  /// How long a sender that shows what a tactus shows is not obeyed until it has said what it is, and how long it is not asked again.
  static let suspicion = Micros(250_000)
  static let suspicionInterval = Micros(60_000_000)
  /// Keys, knobs and pedals that wait for the surface's thread.
  static let touches = 256
  /// The same of one browser's packets.
  static let browserPackets = 512
  /// "Nobody listens there", this often in a row, ends a subscription.
  static let unreachable = 3
  /// The pause between tries of a proven controller to which no way leads, and the time after which it is given up.
  static let absenceInterval = Micros(5_000_000)
  static let longestAbsence = Micros(600_000_000)
  /// The silence after which a controller is asked whether it listens, and the time that it has to answer before it makes room.
  static let idle = Micros(60_000_000)
  static let answerTime = Micros(5_000_000)
  /// Controllers that wait for a place: more than a flood of forged ones brings until an honest one has answered.
  static let applicants = 256
  /// Outputs that unpaired controllers may make or take away at once, and then each second.
  static let reshapingAtOnce = Double(OutputSettings.limit)
  static let reshapingPerSecond = 4.0
  /// Sources beside the crowd that is remembered, for hosts that are subscribed.
  static let reservedSources = 4 * subscribers
  /// Of another tactus: more than anybody has.
  static let shownChannels = 1024
}
