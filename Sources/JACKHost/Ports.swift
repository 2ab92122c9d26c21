// SPDX-License-Identifier: GPL-2.0-or-later
import CJACK
public import Choices

/// What JACK shows of the ports. All are registered at start, whatever is in use: a port that comes later breaks the connections
/// that sessions remember.
extension Port {
  public static let all: [Port] = (0..<Int.max).lazy.map(Port.number).prefix { $0 != nil }.compactMap(\.self)
  /// Those that JACK knows.
  public static let registered: [Port] = all.filter { $0 != .jack }

  public var name: String {
    switch self {
    case .click1: "click_1"
    case .click2: "click_2"
    case .clock: "clock"
    case .pulse: "pulse"
    case .run: "run"
    case .control: "control"
    case .jack: "jack"
    }
  }

  var prettyName: String {
    switch self {
    case .click1: "Click 1"
    case .click2: "Click 2"
    case .clock: "MIDI clock"
    case .pulse: "Pulse"
    case .run: "Run"
    case .control: "Control"
    case .jack: "JACK"
    }
  }

  /// Ports that belong together for the ear are one group for the eye.
  var group: String {
    switch self {
    case .click1, .click2: "click"
    case .clock, .control, .jack: "midi"
    case .pulse, .run: "gates"
    }
  }

  enum Signal {
    case audio, controlVoltage, midi
  }

  var signal: Signal {
    switch self {
    case .click1, .click2: .audio
    case .pulse, .run: .controlVoltage
    case .clock, .control, .jack: .midi
    }
  }

  /// A buffer of samples leaves here.
  var isAudible: Bool {
    @_noLocks @_noAllocation get {
      switch self {
      case .click1, .click2, .pulse, .run: true
      case .clock, .control, .jack: false
      }
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
      let type = port.signal == .midi ? JACK_DEFAULT_MIDI_TYPE : JACK_DEFAULT_AUDIO_TYPE
      // Terminal: what we play comes from nowhere else, what we read goes nowhere else.
      let flags = (port.isOutput ? JackPortIsOutput : JackPortIsInput).rawValue | JackPortIsTerminal.rawValue
      guard let handle = jack_port_register(client, port.name, type, UInt(flags), 0) else {
        throw .portRefused(port.name)
      }
      handles[port] = handle
    }
  }

  subscript(port: Port) -> OpaquePointer? {
    @_noLocks @_noAllocation get { handles[port] }
  }
}
