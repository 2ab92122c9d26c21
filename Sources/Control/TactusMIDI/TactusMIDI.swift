// SPDX-License-Identifier: GPL-2.0-or-later

// TactusMIDI: the meaning of foot switches, knobs and a sequencer's transport messages.
//
// Bytes become a `MIDIMessage`, or nothing. A `MIDIMap` says which addresses of the control surface an event
// changes. The map learns new bindings, and can be written as text and read again ("note 36 ch 10 =
// tempo/tap"). `Binding` also serves for the keys of a terminal.
//
// The module has no table of commands on purpose. A target is an address, and the control surface knows which
// arguments the address accepts. So a pedal can do what a tablet can, and nothing else.
//
// One invariant: for every input the map stays within `MIDIMap.limit`, and only `learn` and `forget` change
// the map.
//
// Start reading at `MIDIMessage(_:)`, then `MIDIMap.receive`. Pure: no ports, no clock.

/// The addresses that a controller's events change, in three layers: learned bindings, the bindings of the
/// user's configuration, and the standard messages of sequencers and MIDI machine control. The first layer
/// that has a binding for the event decides.
public struct MIDIMap: Sendable {
  /// The largest number of bindings in one layer.
  public static let limit = 128

  public private(set) var learned: [MIDIBinding]
  public let configured: [MIDIBinding]
  /// The target to which the next event will be bound; nil: nothing is being learned.
  public private(set) var lesson: Target?

  /// Keeps only the first `limit` bindings of each layer.
  public init(configured: [MIDIBinding] = [], learned: [MIDIBinding] = []) {
    self.configured = Array(configured.prefix(Self.limit))
    self.learned = Array(learned.prefix(Self.limit))
  }

  public enum Outcome: Equatable, Sendable {
    case nothing
    /// The next event has arrived, and is now bound to the target that waited for it.
    case learned(MIDIBinding)
    /// Nothing was learned, because there are already `limit` learned bindings.
    case full
    /// The targets to set. `isStandard`: the binding is a standard one, which the user did not choose.
    case moves([Target], isStandard: Bool)
    /// The targets of an endless wheel, and the steps by which the wheel was turned.
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
      // A binding with a channel wins over a binding for all channels.
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

  /// Binds the next event to `target`; nil: no longer waits for an event.
  public mutating func learn(_ target: Target?) { lesson = target }

  /// Forgets the learned bindings of this event or this address; "all" forgets every learned binding. Returns
  /// false if there were none.
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

  /// The bindings for the transport messages and machine control that every sequencer sends.
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
