// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

/// All limits of the surface, in one place.
enum SurfaceLimits {
  /// How many controllers can be subscribed. As many browsers can be subscribed in addition.
  static let subscribers = 16
  /// How many messages can wait for their time. All senders that are not `trusted` may together fill
  /// `agendaOfOthers` of these; one host may fill at most half of `agendaOfOthers`.
  static let agenda = 256
  static let agendaOfOthers = 128
  static let horizonSeconds = 60.0
  /// The longest time that a tempo waits for its bar: a bar of 64 quarters at 20 BPM takes 192 s.
  static let appointment = Micros(240_000_000)
  /// A subscription without a lease ends after this long without a packet from its host. It continues if the
  /// controller is paired or proves again that it receives our packets.
  static let silence = Micros(3_600_000_000)
  /// The interval between two packets of changes to a subscriber. It allows at most 50 packets a
  /// second.
  static let flushInterval = Micros(20_000)
  static let phaseInterval = Micros(33_400)
  static let positionInterval = Micros(100_000)
  static let heartbeatInterval = Micros(1_000_000)
  /// For this long after a controller has moved a fader, it is not sent the fader's value, which could move
  /// the fader under the finger.
  static let holdOff = Micros(250_000)
  /// A controller that renews its subscription is sent all values again, which replaces what Wi-Fi has lost,
  /// but not more often than this.
  static let dumpInterval = Micros(2_000_000)
  /// How long a nudge may start from a tempo that was requested but that the session does not show yet.
  static let expectation = Micros(2_000_000)
  /// A tap counts from the time at which it was made, if it arrives at most this much later.
  static let lateTap = Micros(1_000_000)
  /// A held bend ends after this long without a message.
  static let longestBend = Micros(20_000_000)
  /// In per cent: a smaller bend counts as no bend.
  static let leastBend = 0.05
  /// How many tempos of a bend are remembered until the session shows them. A wheel sends some hundreds a
  /// second, and the session shows each within 0.1 s.
  static let bendsOnTheirWay = 64
  /// Limits in microseconds. A jog wheel moves the session by at most `farthestTurn` in one go. A drummer's
  /// beat that is off by less than `leastTurn` is not corrected.
  static let farthestTurn = 1_000_000.0
  static let leastTurn = 1000.0
  /// How many sources are remembered with their rates, and for how long after the last packet of each.
  static let sources = 1024
  static let sourceMemory = Micros(1_000_000)
  /// How long a subscribed host, and a source that has asked more than once, are remembered during a flood.
  static let reservedMemory = Micros(60_000_000)
  /// The inbox's limits for the senders of one level of trust: the number of datagrams, their total bytes,
  /// and the bytes that are added to each datagram's size for storing it.
  static let inbox = 2048
  static let inboxBytes = 2 << 20
  static let letter = 64
  /// A datagram that has waited longer than this is dropped.
  static let longestWait = Micros(3_000_000)
  static let errorsPerSecond = 5.0
  /// Limits the bytes that are sent to a host that is neither named nor proven, because its address may be
  /// forged: enough for all values four times, and then `unprovenFactor` bytes for each byte from the host.
  static let unprovenBytes = 32_768.0
  static let unprovenFactor = 8.0
  /// At this rate the whole amount is available again after an hour.
  static let unprovenPerSecond = unprovenBytes / 3600
  /// After this time, values that were held back by `unprovenBytes` are tried again.
  static let unprovenInterval = Micros(1_000_000)
  /// A sender of values that only a tactus sends is ignored for `suspicion` while it is asked whether it is a
  /// tactus. It is asked again after `suspicionInterval` at the earliest.
  static let suspicion = Micros(250_000)
  static let suspicionInterval = Micros(60_000_000)
  /// How many messages of keys, knobs and pedals can wait.
  static let touches = 256
  /// How many packets of one browser can wait.
  static let browserPackets = 512
  /// A subscription ends after this many successive reports that no program listens at its port.
  static let unreachable = 3
  /// The interval at which a proven controller without a route is tried again, and the time after which its
  /// subscription ends.
  static let absenceInterval = Micros(5_000_000)
  static let longestAbsence = Micros(600_000_000)
  /// A controller that was silent for `idle` is asked whether it still listens. If it does not answer within
  /// `answerTime`, its subscription may end.
  static let idle = Micros(60_000_000)
  static let answerTime = Micros(5_000_000)
  /// How many controllers can wait for a subscription. A flood adds fewer forged controllers than this
  /// before an honest controller has answered.
  static let applicants = 256
  /// How many outputs unpaired controllers may add or remove at once, and then in each second.
  static let reshapingAtOnce = Double(OutputSettings.limit)
  static let reshapingPerSecond = 4.0
  /// How many subscribed hosts are remembered in addition to `sources`; a flood of other sources cannot take
  /// these places.
  static let reservedSources = 4 * subscribers
  /// How many channels of another tactus are shown: more than any session has.
  static let shownChannels = 1024
}
