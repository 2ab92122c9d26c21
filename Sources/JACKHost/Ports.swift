// SPDX-License-Identifier: GPL-2.0-or-later
import CJACK

/// The ports of tactus. All are registered at start, whatever is in use: a port that comes later breaks the
/// connections that sessions remember.
public enum Port: Int, CaseIterable, Sendable {
  case click1, click2, clock, pulse, run, control

  public var name: String {
    switch self {
    case .click1: "click_1"
    case .click2: "click_2"
    case .clock: "clock"
    case .pulse: "pulse"
    case .run: "run"
    case .control: "control"
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
    }
  }

  /// Ports that belong together for the ear are one group for the eye.
  var group: String {
    switch self {
    case .click1, .click2: "click"
    case .clock, .control: "midi"
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
    case .clock, .control: .midi
    }
  }

  var isOutput: Bool { self != .control }
}

/// libjack's handles of the six ports.
struct PortHandles {
  let click1, click2, clock, pulse, run, control: OpaquePointer

  /// Registers all six. Called once per client, before it is activated. [control]
  init(registeringOn client: OpaquePointer) throws(JACKError) {
    func register(_ port: Port) throws(JACKError) -> OpaquePointer {
      let type = port.signal == .midi ? JACK_DEFAULT_MIDI_TYPE : JACK_DEFAULT_AUDIO_TYPE
      // Terminal: what we play comes from nowhere else, what we read goes nowhere else.
      let flags = (port.isOutput ? JackPortIsOutput : JackPortIsInput).rawValue | JackPortIsTerminal.rawValue
      guard let handle = jack_port_register(client, port.name, type, UInt(flags), 0) else {
        throw .portRefused(port.name)
      }
      return handle
    }
    click1 = try register(.click1)
    click2 = try register(.click2)
    clock = try register(.clock)
    pulse = try register(.pulse)
    run = try register(.run)
    control = try register(.control)
  }

  subscript(port: Port) -> OpaquePointer {
    switch port {
    case .click1: click1
    case .click2: click2
    case .clock: clock
    case .pulse: pulse
    case .run: run
    case .control: control
    }
  }
}
