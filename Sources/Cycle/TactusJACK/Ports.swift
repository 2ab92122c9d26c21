// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
public import TactusChoices

/// The standing ports of tactus (those that exist from start to end) as JACK shows them. All are registered
/// at the start, even if they are not used: a session manager loses the connections of a port that appears
/// later.
extension Port {
  public static let all: [Port] = (0..<Int.max).lazy.map(Port.number).prefix { $0 != nil }.compactMap(\.self)
  /// The standing ports that are registered with JACK.
  public static let registered: [Port] = all.filter { $0 != .jack }

  enum Signal { case audio, controlVoltage, midi }

  /// The port's name, and the title, group and kind of signal that patchbays show. Ports that belong together
  /// share a group.
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

  /// Whether the port is an output of samples (audio or CV).
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

  /// Registers all ports. Call this once for each client, before the client is activated. [control]
  init(registeringOn client: OpaquePointer) throws(JACKError) {
    for port in Port.registered {
      let type = port.shown.signal == .midi ? JACK_DEFAULT_MIDI_TYPE : JACK_DEFAULT_AUDIO_TYPE
      // The flag "terminal" says that no signal passes through our client from an input to an output.
      let flags = (port.isOutput ? JackPortIsOutput : JackPortIsInput).rawValue | JackPortIsTerminal.rawValue
      guard let handle = jack_port_register(client, port.name, type, UInt(flags), 0) else {
        throw .portRefused(port.name)
      }
      handles[port] = handle
    }
  }

  subscript(port: Port) -> OpaquePointer? { handles[port] }
}

extension PortHandles {
  /// [control]
  func describe(on client: OpaquePointer) {
    PortProperties(client: client).describe(
      Port.registered.map { port in
        let shown = port.shown
        let signal: (String, String) =
          switch shown.signal {
          case .audio: ("signal-type", "AUDIO")
          case .controlVoltage: ("signal-type", "CV")
          case .midi: ("event-types", "MIDI")
          }
        return (
          self[port],
          [
            "pretty-name": shown.pretty, "port-group": shown.group, "order": String(port.rawValue),
            signal.0: signal.1,
          ]
        )
      })
  }

  /// [control]
  func forget(on client: OpaquePointer) {
    PortProperties(client: client).forget(Port.registered.map { self[$0] })
  }
}
