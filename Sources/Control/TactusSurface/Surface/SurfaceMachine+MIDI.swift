// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusMIDI
import TactusOSC

// Pedals, knobs and the terminal's keys: controllers without OSC, which change the same rows.
extension SurfaceMachine {
  /// Handles a key of the terminal view and returns its cost.
  @discardableResult
  mutating func press(_ targets: [Target], at time: Micros, clocks: Clocks) -> Int {
    self.clocks = clocks
    allowance = Allowance()
    for target in targets {
      let words = table.row(target.path)?.said(by: target) ?? []
      say(words, to: target, from: .keys, at: time)
    }
    let cost = Cost.touch + allowance.spent
    advance()
    return cost
  }

  /// Handles a MIDI message and returns its cost. `time`: when the message arrived at the port, which may
  /// be before it was fetched. A tap counts from this time.
  @discardableResult
  mutating func receive(_ message: MIDIMessage, at time: Micros, clocks: Clocks) -> Int {
    self.clocks = clocks
    allowance = Allowance()
    counters.midi += 1
    if lastEvent != message.event {
      lastEvent = message.event
      reading.own.lastEvent = message.event.description
      comparisonDue = comparisonDue ?? now + SurfaceLimits.flushInterval
    }
    let isPress = levels.isPress(message)
    switch midi.receive(message) {
    case .nothing: break
    case .learned(let binding):
      _ = allowance.trySpend(Cost.learning)
      note(.learned(binding))
      learnedChanged(binding.description)
    case .full:
      reading.own.lesson = ""
      refuse(
        Refusal(.notNow, "at most \(MIDIMap.limit) bindings can be learned"), Table.address("midi/learn"),
        to: .midi)
    case .moves(let targets, let isStandard):
      // While the song plays, ignore a Start: a device that sends our own Start back must not start the song
      // again.
      if isStandard, reading.state.isMoving, message.event.isStart { break }
      for target in targets { move(target, message, isPress: isPress, at: time) }
    case .turns(let targets, let steps):
      for target in targets {
        guard let amount = target.amount(of: steps) else { continue }
        say([.float64(amount)], to: target, from: .midi, at: time)
      }
    }
    let cost = Cost.touch + allowance.spent
    advance()
    return cost
  }

  private mutating func move(
    _ target: Target, _ message: MIDIMessage, isPress: Bool, at time: Micros
  ) {
    let arguments = table.row(target.path)?.arguments(
      for: message, target, isPress: isPress, faderRange: reading.own.faderRange)
    if let arguments { say(arguments, to: target, from: .midi, at: time) }
  }

  mutating func say(
    _ arguments: [Argument], to target: Target, from hand: Peer, at time: Micros
  ) {
    guard let row = table.place(of: target.path) else { return }
    do throws(Refusal) {
      try allowance.spend(Cost.message)
      try obey(row, arguments, from: hand, at: time)
    } catch {
      refuse(error, Table.address(target.path), to: hand)
    }
  }

  mutating func learn(_ text: String) throws(Refusal) {
    guard !text.isEmpty else {
      midi.learn(nil)
      reading.own.lesson = ""
      return tellChanges()
    }
    guard let target = Target(text) else {
      throw .range("an address with its arguments, such as tempo/tap or start bar")
    }
    if let objection = table.objection(to: [target]) { throw .range(objection) }
    midi.learn(target)
    reading.own.lesson = target.description
    tellChanges()
  }

  mutating func forget(_ text: String) throws(Refusal) {
    guard midi.forget(text) else { throw Refusal(.notNow, "nothing was learned for that") }
    learnedChanged(reading.own.learned)
  }

  private mutating func learnedChanged(_ last: String) {
    reading.own.lesson = midi.lesson?.description ?? ""
    reading.own.learned = last
    reading.own.learnedCount = midi.learned.count
    put(.learned(midi.learned))
    tellChanges()
  }

  mutating func listBindings(to target: Peer) throws(Refusal) {
    let layers = [(midi.learned, "learned"), (midi.configured, "configured"), (MIDIMap.standard, "standard")]
    try allowance.spend(layers.reduce(0) { $0 + $1.0.count } * Cost.binding)
    let packets = layers.flatMap { bindings, layer in
      bindings.map {
        LibloCodec.encode(
          Message(Table.address("midi/binding"), .string($0.description), .string(layer)))
      }
    }
    for packet in [updateFrame(1)] + packets + [updateFrame(0)] { reply(packet, to: target) }
  }
}

extension Target {
  /// The argument for this many steps of a wheel. It is the target's only number, multiplied by the
  /// number of steps.
  fileprivate func amount(of steps: Int) -> Double? {
    guard arguments.count == 1, let step = Double(arguments[0]), step.isFinite else { return nil }
    return step * Double(steps)
  }
}

extension Peer {
  /// Stands for the sender of everything that comes through the control port. Nothing can be sent back there,
  /// so answers go to the terminal.
  static let midi = Peer(Endpoint(Address.v6(high: 0, low: 0, scope: 0), port: 0), socket: -1)
  /// Stands for the sender of the terminal view's keys, which are on this machine.
  static let keys = Peer(Endpoint(.loopback, port: 0), socket: -1)
}

/// The last level of each knob. A level that rises past the middle is a press; a level that stays above the
/// middle is not. The number of entries is limited, because MIDI has a limited number of events.
struct KnobLevels {
  private var levels: [MIDIEventName: Double] = [:]

  /// Whether the message is a press. A switch that sends its high value again was pressed again, whereas a
  /// moving pedal never repeats a value.
  mutating func isPress(_ message: MIDIMessage) -> Bool {
    switch message.event.kind {
    case .note, .jog, .program, .start, .resume, .stop, .machine: return message.isPressed
    case .controller, .bend: break
    }
    guard case .level(let level) = message.amount else { return false }
    let last = levels.updateValue(level, forKey: message.event)
    return message.isPressed && (last == nil || last.map { $0 < 0.5 || $0 == level } == true)
  }
}

extension MIDIEventName {
  fileprivate var isStart: Bool {
    switch kind {
    case .start, .resume, .machine(.play), .machine(.deferredPlay): true
    case .note, .controller, .jog, .program, .bend, .stop, .machine: false
    }
  }
}

extension Node {
  /// The arguments that the event gives to this row; nil: the event does not change the row.
  fileprivate func arguments(
    for message: MIDIMessage, _ target: Target, isPress: Bool, faderRange: ClosedRange<Double>
  ) -> [Argument]? {
    if !target.arguments.isEmpty { return isPress ? said(by: target) : nil }
    if case .seconds(let seconds) = message.amount, kind == .order { return [.float64(seconds)] }
    guard kind != .trigger else { return isPress ? [] : nil }
    guard parameters.count == 1 else { return nil }
    if case .flag = parameters[0] { return [.float32(message.isPressed ? 1 : 0)] }
    guard case .level(let level) = message.amount, kind == .value || target.range != nil else { return nil }
    switch parameters[0] {
    case .number(let range, _):
      // A knob is too coarse for a tempo between 20 and 999, so it gets the fader's range.
      let own = path == "tempo" ? faderRange : range
      return [.float64(target.value(at: level, in: target.range ?? own))]
    case .fader: return [.float64(target.value(at: level, in: target.range ?? 0...1))]
    case .whole(let range, _):
      let own = Double(range.lowerBound)...Double(range.upperBound)
      return [.float64(target.value(at: level, in: target.range ?? own))]
    case .beats:
      return [.float64(target.value(at: level, in: target.range ?? 0...64).rounded())]
    case .word(let words):
      return [.int32(Int32(clamping: min(words.count - 1, Int(level * Double(words.count)))))]
    case .flag, .text, .exact: return nil
    }
  }
}
