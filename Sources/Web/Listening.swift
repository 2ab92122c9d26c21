// SPDX-License-Identifier: GPL-2.0-or-later
import ControlSurface
import JSON5
import OSC

/// OSCQuery's LISTEN and IGNORE: a subscription to some rows alone. The surface has only one to groups of them; of what that brings,
/// the rest is left out here.
enum Listening {

  /// `{"COMMAND":"LISTEN","DATA":"/tactus/tempo"}`. nil: it is none.
  static func wish(_ text: [UInt8]) -> (command: String, path: String)? {
    guard let element = try? JSON5.read(text), case .object(let members) = element.value else { return nil }
    func word(_ name: String) -> String? {
      guard case .string(let text)? = members.first(where: { $0.name == name })?.element.value else {
        return nil
      }
      return text
    }
    guard let command = word("COMMAND"), let data = word("DATA") else { return nil }
    return (command, data)
  }

  /// The row that can be told, and the group with which it is. nil: there is none at this path.
  static func row(_ address: String, in snapshot: SurfaceSnapshot) -> (row: Node, group: Group)? {
    guard let row = snapshot.row(address) else { return nil }
    return row.isReadable ? (row, .state) : row.kind == .feed ? (row, row.group) : nil
  }

  /// What is left of a packet for one who listens to some rows only: those, and what is said to it alone.
  static func filtered(_ messages: [Message], _ listened: [String: Group]) -> [Message] {
    messages.filter { listened[$0.address] != nil || isForItself($0.address) }
  }

  private static func isForItself(_ address: String) -> Bool {
    ["error", "pong", "bye"].contains { Table.address($0) == address }
  }
}
