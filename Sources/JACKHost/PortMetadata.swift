// SPDX-License-Identifier: GPL-2.0-or-later
import CJACK
import Glibc

// What patchbays show of our ports. A server without metadata refuses, and nothing is lost by that: results
// are ignored. The keys are written out because libjack exports them as mutable globals, and some libjack
// builds lack the newer ones.
extension PortHandles {
  /// [control]
  func describe(on client: OpaquePointer) {
    guard let turn = DatabaseTurn() else { return }
    defer { turn.end() }
    for port in Port.allCases {
      let subject = jack_port_uuid(self[port])
      func set(_ key: String, _ value: String, type: String = "text/plain") {
        jack_set_property(client, subject, "http://jackaudio.org/metadata/" + key, value, type)
      }
      set("pretty-name", port.prettyName)
      set("port-group", port.group)
      set("order", String(port.rawValue), type: "http://www.w3.org/2001/XMLSchema#int")
      switch port.signal {
      case .audio: set("signal-type", "AUDIO")
      case .controlVoltage: set("signal-type", "CV")
      case .midi: set("event-types", "MIDI")
      }
    }
  }

  /// jack2 keeps properties after their port is gone and gives its number to the next one. [control]
  func forget(on client: OpaquePointer) {
    guard let turn = DatabaseTurn() else { return }
    defer { turn.end() }
    for port in Port.allCases { jack_remove_properties(client, jack_port_uuid(self[port])) }
  }
}

/// jack2 keeps properties in a database without anybody who settles who waits for whom: two programs that remove theirs at
/// one moment can wait for each other for ever. Of several tactus at least, one is in it at a time.
private struct DatabaseTurn {
  /// Whoever is in it so long will not come out; names in a patchbay are not worth waiting for.
  private static let patience = 200
  /// Who shares the database shares this folder.
  private let folder: Int32

  /// Nil: it did not come.
  init?() {
    folder = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    for _ in 0..<Self.patience {
      if flock(folder, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK { return }
      usleep(10_000)
    }
    close(folder)
    return nil
  }

  func end() { close(folder) }
}
