// SPDX-License-Identifier: GPL-2.0-or-later
public import Choices
import CJACK

/// What JACK shows of the ports. All are registered at start, whatever is in use: a port that comes later breaks the connections
/// that sessions remember.
extension Port {
  public static let all: [Port] = (0..<Int.max).lazy.map(Port.number).prefix { $0 != nil }.compactMap(\.self)
  /// Those that JACK knows.
  public static let registered: [Port] = all.filter { $0 != .jack }

  enum Signal { case audio, controlVoltage, midi }

  /// Its name, and what patchbays show: ports that belong together for the ear are one group for the eye.
  var shown: (name: String, pretty: String, group: String, signal: Signal) {
    switch self {
    case .click1: ("click_1", "Click 1", "click", .audio)
    case .click2: ("click_2", "Click 2", "click", .audio)
    case .clock: ("clock", "MIDI clock", "midi", .midi)
    case .pulse: ("pulse", "Pulse", "gates", .controlVoltage)
    case .run: ("run", "Run", "gates", .controlVoltage)
    case .control: ("control", "Control", "midi", .midi)
    case .jack: ("jack", "JACK", "midi", .midi)
    }
  }

  public var name: String { shown.name }

  /// A buffer of samples leaves here.
  var isAudible: Bool {
    switch self {
    case .click1, .click2, .pulse, .run: true
    case .clock, .control, .jack: false
    }
  }

  var isOutput: Bool { self != .control }
}

/// libjack's handles of the ports.
struct PortHandles {
  private var handles = PerPort<OpaquePointer?>(repeating: nil)

  /// Registers them all. Called once per client, before it is activated. [control]
  init(registeringOn client: OpaquePointer) throws(JACKError) {
    for port in Port.registered {
      let type = port.shown.signal == .midi ? JACK_DEFAULT_MIDI_TYPE : JACK_DEFAULT_AUDIO_TYPE
      // Terminal: what we play comes from nowhere else, what we read goes nowhere else.
      let flags = (port.isOutput ? JackPortIsOutput : JackPortIsInput).rawValue | JackPortIsTerminal.rawValue
      guard let handle = jack_port_register(client, port.name, type, UInt(flags), 0) else {
        throw .portRefused(port.name)
      }
      handles[port] = handle
    }
  }

  subscript(port: Port) -> OpaquePointer? { handles[port] }
}

// What patchbays show of our ports. A server without metadata refuses, and nothing is lost by that: results
// are ignored. The keys are written out because libjack exports them as mutable globals, and some libjack
// builds lack the newer ones.
extension PortHandles {
  /// [control]
  func describe(on client: OpaquePointer) {
    guard let turn = ServerTurn() else { return }
    defer { turn.end() }
    for port in Port.registered {
      let shown = port.shown
      let subject = jack_port_uuid(self[port])
      func set(_ key: String, _ value: String, type: String = "text/plain") {
        jack_set_property(client, subject, "http://jackaudio.org/metadata/" + key, value, type)
      }
      set("pretty-name", shown.pretty)
      set("port-group", shown.group)
      set("order", String(port.rawValue), type: "http://www.w3.org/2001/XMLSchema#int")
      switch shown.signal {
      case .audio: set("signal-type", "AUDIO")
      case .controlVoltage: set("signal-type", "CV")
      case .midi: set("event-types", "MIDI")
      }
    }
  }

  /// jack2 keeps properties after their port is gone and gives its number to the next one. [control]
  func forget(on client: OpaquePointer) {
    guard let turn = ServerTurn() else { return }
    defer { turn.end() }
    for port in Port.registered { jack_remove_properties(client, jack_port_uuid(self[port])) }
  }
}
