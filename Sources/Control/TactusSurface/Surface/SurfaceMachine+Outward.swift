// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusOSC

/// The messages to programs that did not subscribe: the lines of `--osc-tell`, within a limit a second.
struct Outward {
  /// The limit for the messages of all lines together.
  static let perSecond = 400.0
  static let atOnce = 128.0

  let lines: [OutwardLine]
  private var bucket: TokenBucket
  /// When to send the next tempo; nil: it has not changed. A moving fader or a MIDI clock changes the tempo
  /// many times a second. As in `TempoGate`, only some of these tempos are sent, and the last one always.
  fileprivate(set) var tempoDue: Micros?
  private var told: Micros?
  /// Messages of songs. Each waits until its song's settings have taken effect. Their number is limited,
  /// because a song has a limited number of commands.
  fileprivate var waiting: [OutwardMessage] = []

  init(_ lines: [OutwardLine], at now: Micros) {
    self.lines = Array(lines.prefix(OutwardLine.limit))
    bucket = TokenBucket(perSecond: Self.perSecond, capacity: Self.atOnce, at: now)
    if has(.tempo) { tempoDue = now }
  }

  func has(_ moment: OutwardMoment) -> Bool { lines.contains { $0.moment == moment } }

  /// The feeds that these lines need, so that their times are computed.
  var group: Group { has(.beat) || has(.bar) ? .beat : [] }

  mutating func tempoChanged(at now: Micros) {
    guard has(.tempo), tempoDue == nil else { return }
    tempoDue = max(now, told.map { $0 + TempoGate<Asker>.interval } ?? now)
  }

  fileprivate mutating func takeTempo(at now: Micros) -> Bool {
    guard let due = tempoDue, now >= due else { return false }
    tempoDue = nil
    told = now
    return true
  }

  fileprivate mutating func mayBeSaid(at now: Micros) -> Bool { bucket.trySpend(at: now) }
}

extension SurfaceMachine {
  mutating func sayOutwardTempo() {
    if outward.takeTempo(at: now) { sayOutward(.tempo) }
  }

  mutating func sayOutward(_ moment: OutwardMoment) {
    for line in outward.lines where line.moment == moment {
      do throws(Refusal) {
        try say(line.message, tempo: reading.state.tempo.beatsPerMinute)
      } catch {
        note(.unsaid("\(line.message.address): \(error.text)"))
      }
    }
  }

  /// Sends the message at once; a message of a song waits until the settings before it hold.
  mutating func sayWhenAsked(_ message: OutwardMessage) throws(Refusal) {
    guard songBeingSaid != nil else { return try say(message, tempo: reading.tempo) }
    outward.waiting.append(message)
  }

  mutating func sayWaiting() {
    guard !outward.waiting.isEmpty else { return }
    let waiting = outward.waiting
    outward.waiting = []
    for message in waiting {
      do throws(Refusal) {
        try say(message, tempo: reading.tempo)
      } catch {
        refuse(error, Table.address("osc/send"), to: .keys)
      }
    }
  }

  private mutating func say(_ message: OutwardMessage, tempo: Double) throws(Refusal) {
    // We would receive our own message as a command, and might send it again.
    let isOurs =
      settings.listen.contains { $0.port == message.target.port }
      && neighbourhood.isOwn(message.target.address)
    guard !isOurs else { throw .refused("\(message.target) is tactus itself") }
    guard let said = message.message(reading.state, tempo: tempo, at: now) else {
      throw .range("its formula gives no number at this moment")
    }
    guard outward.mayBeSaid(at: now) else {
      throw Refusal(.notNow, "more than \(Int(Outward.perSecond)) messages a second, some are lost")
    }
    counters.outward += 1
    put(.outward(LibloCodec.encode(said), to: message.target))
  }
}
