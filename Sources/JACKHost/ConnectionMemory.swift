// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
public import Choices

/// One of our ports connected with a port of someone else, by names: handles die with the server.
public struct Connection: Hashable, Sendable {
  public let port: Port
  /// The other port with its client, for instance `system:playback_1`.
  public let other: String

  public init(port: Port, other: String) {
    self.port = port
    self.other = other
  }
}

/// Which connections our ports have, so that they can be made again after the server was gone.
///
/// A connection is forgotten only if it stays cut while both of its ports exist: that was somebody's wish.
/// If the other port is gone as well, its program or the whole server is going down, and it may come back.
struct ConnectionMemory {
  /// A server that shuts down in order cuts first and unregisters after; no user can tell this from now.
  static let forgetAfter = Micros(1_000_000)
  static let limit = 512

  private(set) var remembered: Set<Connection> = []
  private(set) var refusedCount = 0
  private var cutSince: [Connection: Micros] = [:]

  mutating func observe(_ present: Set<Connection>, at now: Micros, portExists: (String) -> Bool) {
    for connection in present where !remembered.contains(connection) {
      if remembered.count < Self.limit {
        remembered.insert(connection)
      } else {
        refusedCount += 1
      }
    }
    for connection in remembered {
      if present.contains(connection) || !portExists(connection.other) {
        cutSince[connection] = nil
      } else if let since = cutSince[connection] {
        if now - since >= Self.forgetAfter {
          cutSince[connection] = nil
          remembered.remove(connection)
        }
      } else {
        cutSince[connection] = now
      }
    }
  }

  /// The server is gone: nothing that was seen missing lately counts as cut by the user.
  mutating func serverLost() {
    cutSince = [:]
  }

  /// Whether a cut is still being judged, so that somebody has to look again.
  var isUndecided: Bool { !cutSince.isEmpty }
}
