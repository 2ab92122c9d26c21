// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import TactusChoices

/// Every bound of the surface, in one place.
enum SurfaceLimits {
  /// Controllers; as many browsers may be subscribed beside them.
  static let subscribers = 16
  /// Messages that wait for their time. Senders that are not `trusted` have `agendaOfOthers` places together,
  /// and one host half of those.
  static let agenda = 256
  static let agendaOfOthers = 128
  static let horizonSeconds = 60.0
  /// The longest time that a tempo waits for its bar: a bar of 64 quarters at 20 BPM takes 192 s.
  static let appointment = Micros(240_000_000)
  /// A subscription without a lease ends after this long without a packet from its host, unless it is paired
  /// or proves again that it receives our packets.
  static let silence = Micros(3_600_000_000)
  /// Changes go to a subscriber at most 50 times a second.
  static let flushInterval = Micros(20_000)
  static let phaseInterval = Micros(33_400)
  static let positionInterval = Micros(100_000)
  static let heartbeatInterval = Micros(1_000_000)
  /// While a controller moves a fader, that fader is not moved back under the finger.
  static let holdOff = Micros(250_000)
  /// A renewed subscription is sent everything again, which replaces what Wi-Fi lost, but not more often than
  /// this.
  static let dumpInterval = Micros(2_000_000)
  /// The next nudge starts from a tempo just asked for until the session shows that tempo, but for this long
  /// at most.
  static let expectation = Micros(2_000_000)
  /// A tap counts from when it was made, if that is at most this long ago.
  static let lateTap = Micros(1_000_000)
  /// A held bend ends after this long without a message.
  static let longestBend = Micros(20_000_000)
  /// Per cent; a smaller bend counts as none.
  static let leastBend = 0.05
  /// Tempos of a bend that the session does not show yet. A wheel sends some hundreds a second, and the
  /// session shows each within 0.1 s.
  static let bendsOnTheirWay = 64
  /// Microseconds. `farthestTurn` is the most that a jog wheel moves the session in one go; a drummer's beat
  /// that is off by less than `leastTurn` is not corrected.
  static let farthestTurn = 1_000_000.0
  static let leastTurn = 1000.0
  /// Sources whose rates are remembered, and for how long after their last packet.
  static let sources = 1024
  static let sourceMemory = Micros(1_000_000)
  /// How long a subscribed host, and a source that asked more than once, are remembered in a flood.
  static let reservedMemory = Micros(60_000_000)
  /// Limits of one line of the inbox: datagrams, bytes, and the bytes that keeping one takes beside its own.
  static let inbox = 2048
  static let inboxBytes = 2 << 20
  static let letter = 64
  /// A datagram that has waited longer is dropped.
  static let longestWait = Micros(3_000_000)
  static let errorsPerSecond = 5.0
  /// Bytes sent to a host that is neither named nor proven, for its address may be forged: enough for all
  /// values four times, and then `unprovenFactor` bytes for each byte that it sends.
  static let unprovenBytes = 32_768.0
  static let unprovenFactor = 8.0
  /// The whole amount is available again after an hour.
  static let unprovenPerSecond = unprovenBytes / 3600
  /// Retry interval for values that this limit has held back.
  static let unprovenInterval = Micros(1_000_000)
  /// How long a sender of values that only a tactus sends is ignored until it says what it is, and when it is
  /// asked again.
  static let suspicion = Micros(250_000)
  static let suspicionInterval = Micros(60_000_000)
  /// Queued messages of keys, knobs and pedals.
  static let touches = 256
  /// Queued packets of one browser.
  static let browserPackets = 512
  /// A subscription ends after this many reports in a row that no program listens at its port.
  static let unreachable = 3
  /// Interval at which a proven controller without a route is tried again, and the time after which it is
  /// given up.
  static let absenceInterval = Micros(5_000_000)
  static let longestAbsence = Micros(600_000_000)
  /// Silence after which a controller is asked whether it listens, and the time it has to answer before it
  /// loses its place.
  static let idle = Micros(60_000_000)
  static let answerTime = Micros(5_000_000)
  /// Applicants for a place: more than a flood of forged ones adds before an honest one has answered.
  static let applicants = 256
  /// Outputs that unpaired controllers may add or remove at once, and then each second.
  static let reshapingAtOnce = Double(OutputSettings.limit)
  static let reshapingPerSecond = 4.0
  /// Places beside `sources` for subscribed hosts, which a flood of other sources cannot take.
  static let reservedSources = 4 * subscribers
  /// Channels shown of another tactus: more than any session has.
  static let shownChannels = 1024
}
