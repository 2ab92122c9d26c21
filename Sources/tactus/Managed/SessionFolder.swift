// SPDX-License-Identifier: GPL-2.0-or-later
import Choices
import Glibc
import JACKHost
import JSON5

/// A session manager's project of ours on the disk: a folder with two files of fixed names. What was chosen is
/// `config.json5`, which could be anybody's configuration; what was connected is `connections.json5`.
struct SessionFolder: Equatable {
  static let heading =
    "The configuration of tactus in a session. A session manager's Save writes it anew, with what holds then."

  let path: String

  var configuration: String { path + "/config.json5" }
  var connections: String { path + "/connections.json5" }

  var isNew: Bool { access(configuration, F_OK) != 0 }

  /// Nothing is remembered beside what is saved: a manager's Quit without Save means it.
  var places: Places { Places(configuration: configuration, state: nil) }

  func write(_ configuration: Configuration) throws(Complaint) {
    let text = ConfigurationFile.text(of: configuration, heading: Self.heading)
    try WholeFile.write(text, to: self.configuration)
  }

  func write(_ connections: Set<Connection>) throws(Complaint) {
    let lines = Port.registered.compactMap { port -> String? in
      let others = connections.filter { $0.port == port }.map(\.other).sorted()
      guard !others.isEmpty else { return nil }
      return "  \(JSON5.quoted(port.name)): [\(others.map(JSON5.quoted).joined(separator: ", "))],\n"
    }
    let words =
      "// What the ports of tactus are connected with in this session. Made again as soon as it is there.\n"
    try WholeFile.write(words + "{\n" + lines.joined() + "}\n", to: self.connections)
  }

  /// None, if there is no such file.
  func readConnections() throws(Complaint) -> Set<Connection> {
    guard let bytes = try WholeFile.readIfAny(connections, limit: JSON5.Limits().bytes) else { return [] }
    return try Self.connections(in: JSON5.document(bytes, from: connections), of: connections)
  }

  private static func connections(
    in document: JSON5.Element, of path: String
  ) throws(Complaint) -> Set<Connection> {
    guard case .object(let members) = document.value else {
      throw Complaint(
        path, line: document.line, "holds \(document.value.kind) instead of { port: [...], ... }")
    }
    var found: Set<Connection> = []
    for member in members {
      guard let port = Port.registered.first(where: { $0.name == member.name }) else {
        throw Complaint(path, line: member.line, "tactus has no port \(JSON5.quoted(member.name))")
      }
      guard case .array(let others) = member.element.value else {
        throw Complaint(path, line: member.line, "\"\(port.name)\" takes a list of ports")
      }
      for other in others {
        guard case .string(let name) = other.value, isPortName(name) else {
          throw Complaint(
            path, line: other.line, "\"\(port.name)\" takes names of ports, such as \"system:playback_1\"")
        }
        found.insert(Connection(port: port, other: name))
      }
    }
    return found
  }

  /// `client:port`, as JACK would take it.
  private static func isPortName(_ name: String) -> Bool {
    (3...320).contains(name.utf8.count) && name.dropFirst().dropLast().contains(":")
      && name.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
  }
}
