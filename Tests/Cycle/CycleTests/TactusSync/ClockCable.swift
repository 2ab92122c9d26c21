// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

@testable import TactusSync

/// A studio whose session is led by a MIDI clock, and the device at the other end of the cable. The device
/// sends our own clock back after some time, or it has a clock of its own.
final class ClockCable {
  enum Device {
    /// The device sends back each message that it gets, later by this number of microseconds and by the
    /// buffer that JACK adds.
    case thru(Double)
    /// A connection within JACK sends back our clock one buffer later.
    case patchbay
    /// The cable is not plugged in.
    case none
    /// A slow machine that follows our clock with this time constant and sends its own clock.
    case follower(seconds: Double)
    /// A sequencer with its own tempo, as a function of the seconds played.
    case own((Double) -> Double)
  }

  let studio: Studio
  var device: Device
  /// The longest random delay of a clock message on the cable, in microseconds.
  var jitter = 0.0
  /// The length of a USB frame, in microseconds. A message is handed over at the end of its USB frame.
  var usbFrame = 0.0
  /// The number of clock messages of which, on average, one is lost; 0: no message is lost.
  var losesOneOf = 0
  /// Returns whether the sequencer's clock message of this number gets lost.
  var loses: (Int) -> Bool = { _ in false }
  /// The number of messages of which, on average, one finds the machine asleep. The machine then wakes up
  /// late by up to `lateness` microseconds, and the following messages wait for it.
  var isLateOneOf = 0
  var lateness = 5_000.0
  /// The number of cycles of which, on average, one begins a row of cycles that we miss.
  var losesCyclesOneOf = 0
  var frames: UInt32 = 256
  private(set) var played = 0.0
  /// The proposals of the tempo and the beat since the last call of `look`.
  var proposals: ArraySlice<(time: Double, proposal: Proposal)> { studio.commits[looked...] }
  private var looked = 0
  /// The session's fastest tempo since the last call of `look`. `slowest` is its slowest tempo.
  private(set) var fastest = 0.0
  private(set) var slowest = 0.0
  private(set) var noticedAfter: Double?
  private var waiting: [(due: Double, event: MIDIEvent)] = []
  private var fetched = 0
  private var dice: Dice
  private var lastDue = 0.0
  /// The time of the sequencer's next clock message. `pace` is the time from clock to clock of a machine that
  /// follows us.
  private(set) var next = 0.0
  /// The number of clock messages since the sequencer's song began.
  private var sent = 0
  private var pace = 0.0
  private var lastHeard = 0.0

  init(_ device: Device, tempo: Double, seed: UInt64 = 1, start: Double = 1e9) {
    self.device = device
    studio = Studio(tempo: tempo, start: start)
    dice = Dice(seed: seed)
    studio.settings.lead = .midi
    studio.settings.click.isOn = false
    studio.settings.clock.when = .always
    look()
  }

  var tempo: Double { 60e6 / Grid(studio.timeline).beatMicros }
  var isEcho: Bool { studio.report.clockIn.isEcho }

  func look() {
    fastest = tempo
    slowest = tempo
    looked = studio.commits.count
    noticedAfter = nil
    started = played
  }
  private var started = 0.0

  func start() {
    studio.transport.frame = 0
    studio.transport.state = .rolling
  }

  /// The ways to start a transport whose own MIDI clock is looped back to the port `control`.
  enum Launching: CaseIterable {
    case atOnce, onTheBar, exactly, withoutClockBefore
  }

  func launch(_ way: Launching) {
    studio.asksBeforeRolling = true
    studio.settings.launch.moment = way == .atOnce ? .now : .bar
    studio.settings.launch.alignment = way == .exactly ? .exact : .nearest
    studio.settings.clock.when = way == .withoutClockBefore ? .rolling : .always
    studio.transport.state = .starting
  }

  func stop() { studio.transport.state = .stopped }

  func send(_ status: UInt8) { waiting.append((now, MIDIEvent(frame: 0, status: status))) }

  func play(seconds: Double, each: (ClockCable) -> Void = { _ in }) {
    let end = played + seconds
    while played < end {
      cycle()
      each(self)
    }
  }

  private func cycle() {
    if losesCyclesOneOf > 0, Int.random(in: 0..<losesCyclesOneOf, using: &dice) == 0 {
      studio.clock.lose(cycles: Int.random(in: 1...6, using: &dice), frames: frames, dice: &dice)
    }
    let start = studio.clock.nextDue
    let length = studio.clock.period(frames)
    runMachine(until: start + length)
    waiting.sort { $0.due < $1.due }
    while let first = waiting.first, first.due < start + length {
      var event = first.event
      let frame = (first.due - start) / studio.microsPerFrame
      event.frame = UInt32(max(0, min(Double(frames - 1), frame.rounded())))
      studio.receive(event)
      waiting.removeFirst()
    }
    studio.commitsAfter = length + 3_000
    studio.play(frames)
    played += length / 1e6
    for message in studio.messages[fetched...] { carry(message.event, sent: start, length) }
    fetched = studio.messages.count
    fastest = max(fastest, tempo)
    slowest = min(slowest, tempo)
    if isEcho, noticedAfter == nil { noticedAfter = played - started }
  }

  private func carry(_ event: MIDIEvent, sent start: Double, _ length: Double) {
    let sent = start + Double(event.frame) * studio.microsPerFrame
    switch device {
    case .thru(let latency): arrive(sent + length + latency, event)
    case .patchbay: arrive(sent + length, event)
    case .follower:
      if event.status == MIDI.clock {
        if pace == 0 { next = sent + 5_000 }
        let gap = sent - lastHeard
        if lastHeard > 0, gap < 300_000 { pace = pace == 0 ? gap : pace }
        lastHeard = sent
        receive(sent)
      }
    case .none, .own: break
    }
  }

  /// Receives our clock messages at a machine that follows us: it smooths them by a slow loop of its own.
  private func receive(_ sent: Double) {
    guard case .follower(let seconds) = device, pace > 0 else { return }
    let away = sent + 5_000 - next
    let error = away - (away / pace).rounded() * pace
    let omega = pace / 1e6 / seconds
    next += 1.4 * omega * error
    pace += omega * omega * error
  }

  private func runMachine(until end: Double) {
    switch device {
    case .none, .thru, .patchbay: return
    case .follower:
      guard pace > 0 else { return }
      while next < end {
        arrive(next, MIDIEvent(frame: 0, status: MIDI.clock))
        next += pace
      }
    case .own(let tempo):
      if next == 0 { next = end }
      while next < end {
        if !loses(sent) { arrive(next, MIDIEvent(frame: 0, status: MIDI.clock)) }
        next += 2.5e6 / tempo(played)
        sent += 1
      }
    }
  }

  /// The microseconds from one of the sequencer's clock messages to the next.
  private var interval: Double {
    guard case .own(let tempo) = device else { return 2.5e6 / tempo }
    return 2.5e6 / tempo(played)
  }

  /// The sequencer pauses for this share of the time between two clock messages.
  func pause(_ share: Double) { next += share * interval }

  /// The sequencer starts its song.
  func startSong() {
    (sent, next) = (0, now)
    send(MIDI.start)
  }

  func resumeSong(atSixteenth position: UInt16) {
    (sent, next) = (Int(position) * 6, now)
    waiting.append((now, MIDIEvent(frame: 0, position: position)))
    send(MIDI.resume)
  }

  /// The time at which the last cycle ended, and the sequencer's beat at that time.
  var now: Double { studio.clock.nextDue }
  var songBeat: Double { (Double(sent) - (next - now) / interval) / 24 }

  /// The sequencer's beat minus the session's beat, in microseconds, wrapped into a quantum of 4.
  var error: Double {
    let away = songBeat - studio.beat(at: now)
    return (away - 4 * (away / 4).rounded()) * 60e6 / tempo
  }

  private func arrive(_ time: Double, _ event: MIDIEvent) {
    if losesOneOf > 0, event.status == MIDI.clock, Int.random(in: 0..<losesOneOf, using: &dice) == 0 {
      return
    }
    var due = time + (jitter > 0 ? Double.random(in: 0..<jitter, using: &dice) : 0)
    if isLateOneOf > 0, Int.random(in: 0..<isLateOneOf, using: &dice) == 0 {
      due += Double.random(in: 0..<lateness, using: &dice)
    }
    if isLateOneOf > 0 { due = max(due, lastDue) }
    lastDue = due
    if usbFrame > 0 { due = (due / usbFrame).rounded(.up) * usbFrame }
    waiting.append((due, event))
  }
}
