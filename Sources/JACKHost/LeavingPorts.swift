// SPDX-License-Identifier: GPL-2.0-or-later
import CJACK

/// Ports that come and go beside a running audio thread, which goes by a numbered table of them: one that leaves, and what it
/// plays from, lives until the thread has seen a table without it. [control]
struct LeavingPorts {
  private struct Leaving {
    let handles: [OpaquePointer]
    let kept: Any?
    /// The first table without them.
    let table: UInt32
  }

  private let properties: PortProperties
  private var leaving: [Leaving] = []
  /// Of the last table.
  private var number: UInt32

  /// `seen`: the table that the audio thread went by last.
  init(client: OpaquePointer, seen: UInt32) {
    properties = PortProperties(client: client)
    number = seen
  }

  /// Of the next table.
  var comingNumber: UInt32 { number &+ 1 }

  /// Of a new table, to be published at once.
  mutating func nextNumber() -> UInt32 {
    number = comingNumber
    return number
  }

  /// Not in the next table any more.
  mutating func leave(_ handles: [OpaquePointer], keeping kept: Any? = nil) {
    leaving.append(Leaving(handles: handles, kept: kept, table: comingNumber))
  }

  /// Ends what the audio thread has let go of; true: names have become free.
  mutating func letGo(seen: UInt32) -> Bool {
    let over = leaving.filter { !$0.table.isAfter(seen) }.flatMap(\.handles)
    properties.forget(over)
    for handle in over { jack_port_unregister(properties.client, handle) }
    leaving.removeAll { !$0.table.isAfter(seen) }
    return !over.isEmpty
  }
}

extension UInt32 {
  /// As numbers that wrap.
  func isAfter(_ other: UInt32) -> Bool { Int32(bitPattern: self &- other) > 0 }
}

/// What patchbays show of our ports. A server without metadata refuses, and nothing is lost by that: results are ignored. The
/// keys are written out because libjack exports them as mutable globals, and some libjack builds lack the newer ones. [control]
struct PortProperties {
  let client: OpaquePointer

  /// `properties`: each name without its beginning, and its value.
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

  /// jack2 keeps properties after their port is gone and gives its number to the next one.
  func forget(_ handles: [OpaquePointer?]) {
    guard !handles.isEmpty, let turn = ServerTurn() else { return }
    defer { turn.end() }
    for handle in handles { jack_remove_properties(client, jack_port_uuid(handle)) }
  }
}
