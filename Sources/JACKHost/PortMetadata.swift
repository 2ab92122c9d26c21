// SPDX-License-Identifier: GPL-2.0-or-later
import CJACK
import Choices

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
