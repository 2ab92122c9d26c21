// SPDX-License-Identifier: GPL-2.0-or-later

// MIDIControl: what a foot switch, a knob or a sequencer's transport keys mean.
//
// Bytes become a `MIDIMessage` or nothing; a `MIDIMap` says which addresses of the control surface it moves, learns
// new ones, and can be written as text and read again ("note 36 ch 10 = tempo/tap"). A `Binding` is the same for the
// keys of a terminal.
//
// It lacks, on purpose: the table of commands. A target is an address, and what it takes is the surface's to say; so a
// pedal can do what a tablet can, and nothing else.
//
// One invariant: whatever comes in, the map stays within `MIDIMap.limit`, and nothing but `learn` and `forget`
// changes it.
//
// Way in: `MIDIMessage(_:)`, then `MIDIMap.receive`. Pure: no ports, no clock.

/// Which addresses the events of a controller move. Three layers: what was learned, what the user wrote down, and what
/// sequencers and MIDI machine control mean everywhere. The first layer that knows an event has it.
public struct MIDIMap: Sendable {
  /// Bindings in one layer.
  public static let limit = 128

  public private(set) var learned: [MIDIBinding]
  public let configured: [MIDIBinding]
  /// What the next event is bound to.
  public private(set) var lesson: Target?

  /// Of more than `limit` the first count.
  public init(configured: [MIDIBinding] = [], learned: [MIDIBinding] = []) {
    self.configured = Array(configured.prefix(Self.limit))
    self.learned = Array(learned.prefix(Self.limit))
  }

  public enum Outcome: Equatable, Sendable {
    case nothing
    /// The lesson's event came.
    case learned(MIDIBinding)
    /// There are `limit` already.
    case full
    /// `isStandard`: nobody chose it, it means this everywhere.
    case moves([Target], isStandard: Bool)
    /// A wheel without ends: each target with the steps that it was turned by.
    case turns([Target], steps: Int)
  }

  public mutating func receive(_ message: MIDIMessage) -> Outcome {
    if let lesson, message.isLesson {
      self.lesson = nil
      let binding = MIDIBinding(message.event, [lesson])
      learned.removeAll { $0.event == message.event }
      guard learned.count < Self.limit else { return .full }
      learned.append(binding)
      return .learned(binding)
    }
    for (layer, isStandard) in [(learned, false), (configured, false), (Self.standard, true)] {
      // One that names its channel is more to the point than one for all.
      let found = layer.filter { $0.event == message.event }
      let all = found.isEmpty ? layer.filter { $0.event.matches(message.event) } : found
      let wheels = layer.filter { message.steps(of: $0.event) != nil }
      if let wheel = wheels.first(where: { $0.event.channel != nil }) ?? wheels.first, found.isEmpty,
        let steps = message.steps(of: wheel.event)
      {
        return .turns(wheel.targets, steps: steps)
      }
      if !all.isEmpty { return .moves(all.flatMap(\.targets), isStandard: isStandard) }
    }
    return .nothing
  }

  /// The next event is bound to this; nil: it is not.
  public mutating func learn(_ target: Target?) { lesson = target }

  /// What was learned for this event or this address, or all of it. False: there was none.
  public mutating func forget(_ text: String) -> Bool {
    let before = learned.count
    if text == "all" {
      learned = []
    } else if let event = MIDIEventName(text) {
      learned.removeAll { event.matches($0.event) }
    } else {
      let path = Target(text)?.path
      learned.removeAll { $0.targets.contains { $0.path == path } }
    }
    return learned.count < before
  }

  /// Song and machine control as every sequencer sends them.
  public static let standard: [MIDIBinding] = [
    MIDIBinding(.init(.start), [Target(path: "rewind"), Target(path: "start")]),
    MIDIBinding(.init(.resume), [Target(path: "start")]),
    MIDIBinding(.init(.stop), [Target(path: "stop")]),
    MIDIBinding(.init(.machine(.play)), [Target(path: "start")]),
    MIDIBinding(.init(.machine(.deferredPlay)), [Target(path: "start")]),
    MIDIBinding(.init(.machine(.stop)), [Target(path: "stop")]),
    MIDIBinding(.init(.machine(.pause)), [Target(path: "toggle")]),
    MIDIBinding(.init(.machine(.rewind)), [Target(path: "rewind")]),
    MIDIBinding(.init(.machine(.locate)), [Target(path: "locate/time")]),
    MIDIBinding(.init(.machine(.record)), [Target(path: "record", arguments: ["1"])]),
    MIDIBinding(.init(.machine(.recordEnd)), [Target(path: "record", arguments: ["0"])]),
  ]
}
