// SPDX-License-Identifier: GPL-2.0-or-later
import TactusJSON5
import TactusOSC
import TactusSurface

/// OSCQuery's LISTEN and IGNORE: subscriptions to single rows. The surface knows only subscriptions to whole
/// groups, so this type leaves out the group's other rows.
enum Listening {

  /// The command in `{"COMMAND":"LISTEN","DATA":"/tactus/tempo"}`; nil: the text is no such command.
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

  /// The row at this address, and the group that delivers it; nil: there is no such row, or it can't be
  /// subscribed to.
  static func row(_ address: String, in snapshot: SurfaceSnapshot) -> (row: Node, group: Group)? {
    guard let row = snapshot.row(address) else { return nil }
    return row.isReadable ? (row, .state) : row.kind == .feed ? (row, row.group) : nil
  }

  /// Returns the messages for a browser that listens to some rows: the messages of these rows, and the
  /// messages to this browser alone.
  static func filtered(_ messages: [Message], _ listened: [String: Group]) -> [Message] {
    messages.filter { listened[$0.address] != nil || isForItself($0.address) }
  }

  private static func isForItself(_ address: String) -> Bool {
    ["error", "pong", "bye"].contains { Table.address($0) == address }
  }
}
