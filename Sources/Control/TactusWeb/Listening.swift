// SPDX-License-Identifier: GPL-2.0-or-later
import ControlSurface
import TactusJSON5
import TactusOSC

/// OSCQuery's LISTEN and IGNORE: subscriptions to single rows. The surface only knows subscriptions to groups
/// of rows; here we remove the other rows of a group.
enum Listening {

  /// The command in `{"COMMAND":"LISTEN","DATA":"/tactus/tempo"}`; nil if the text is not a command.
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

  /// The row and the group that delivers it; nil if no row at this path can be subscribed to.
  static func row(_ address: String, in snapshot: SurfaceSnapshot) -> (row: Node, group: Group)? {
    guard let row = snapshot.row(address) else { return nil }
    return row.isReadable ? (row, .state) : row.kind == .feed ? (row, row.group) : nil
  }

  /// The messages for a client that listens to some rows: those rows, and messages to this client alone.
  static func filtered(_ messages: [Message], _ listened: [String: Group]) -> [Message] {
    messages.filter { listened[$0.address] != nil || isForItself($0.address) }
  }

  private static func isForItself(_ address: String) -> Bool {
    ["error", "pong", "bye"].contains { Table.address($0) == address }
  }
}
