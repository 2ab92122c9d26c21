// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK

/// Ports to be unregistered while the audio thread runs. The audio thread uses a numbered table of ports. A
/// port to be removed, and the memory that it plays from, live until the audio thread has read a table
/// without that port. [control]
struct LeavingPorts {
  private struct Leaving {
    let handles: [OpaquePointer]
    let kept: Any?
    /// The number of the first table without these ports.
    let table: UInt32
  }

  private let properties: PortProperties
  private var leaving: [Leaving] = []
  /// The number of the newest table.
  private var number: UInt32

  /// `seen`: the number of the table that the audio thread used last.
  init(client: OpaquePointer, seen: UInt32) {
    properties = PortProperties(client: client)
    number = seen
  }

  /// The number of the next table.
  var comingNumber: UInt32 { number &+ 1 }

  /// Takes the number of a new table, which the caller publishes at once.
  mutating func nextNumber() -> UInt32 {
    number = comingNumber
    return number
  }

  /// Adds ports that are no longer in the next table.
  mutating func leave(_ handles: [OpaquePointer], keeping kept: Any? = nil) {
    leaving.append(Leaving(handles: handles, kept: kept, table: comingNumber))
  }

  /// Unregisters the ports that the audio thread no longer uses. Returns true if port names have become free.
  mutating func letGo(seen: UInt32) -> Bool {
    let over = leaving.filter { !$0.table.isAfter(seen) }.flatMap(\.handles)
    properties.forget(over)
    for handle in over { jack_port_unregister(properties.client, handle) }
    leaving.removeAll { !$0.table.isAfter(seen) }
    return !over.isEmpty
  }
}

extension UInt32 {
  /// Whether this number comes after `other`, even if the numbers have wrapped in between.
  func isAfter(_ other: UInt32) -> Bool { Int32(bitPattern: self &- other) > 0 }
}

/// Metadata of our ports, which patchbays show. The results of the calls are ignored: a server without
/// metadata refuses them, and nothing is lost by that. The keys are written out because libjack exports them
/// as mutable globals, and some libjack builds lack the newer ones. [control]
struct PortProperties {
  let client: OpaquePointer

  /// `properties`: the keys without their common prefix, and the values.
  func describe(_ ports: [(handle: OpaquePointer?, properties: KeyValuePairs<String, String>)]) {
    guard !ports.isEmpty, let turn = ServerTurn() else { return }
    defer { turn.end() }
    for (handle, properties) in ports {
      let subject = jack_port_uuid(handle)
      for (key, value) in properties {
        let type = key == "order" ? "http://www.w3.org/2001/XMLSchema#int" : "text/plain"
        jack_set_property(client, subject, "http://jackaudio.org/metadata/" + key, value, type)
      }
    }
  }

  /// Removes the properties of these ports. jack2 would keep them after a port is gone, and give the port's
  /// UUID to the next port.
  func forget(_ handles: [OpaquePointer?]) {
    guard !handles.isEmpty, let turn = ServerTurn() else { return }
    defer { turn.end() }
    for handle in handles { jack_remove_properties(client, jack_port_uuid(handle)) }
  }
}
