// SPDX-License-Identifier: GPL-2.0-or-later
import TactusOSC

/// A project that a session manager asks for; its names are checked before anything touches the disk.
public struct Project: Equatable, Sendable {
  public struct Unusable: Error, Equatable {
    public let reason: String
  }

  /// PATH_MAX, less the length of the file names that tactus appends.
  static let pathLimit = 4000
  static let nameLimit = 255
  /// JACK's limit for a client's name.
  static let clientIDLimit = 63

  /// The project's directory, which may not exist yet. The path is absolute and has no `..`.
  public let path: String
  /// The user's name for the session.
  public let displayName: String
  /// Name for the JACK client.
  public let clientID: String

  public init(path: String, displayName: String, clientID: String) throws(Unusable) {
    guard path.hasPrefix("/") else { throw Unusable(reason: "the project's path must be absolute") }
    guard path.utf8.count <= Self.pathLimit else { throw Unusable(reason: "the project's path is too long") }
    let parts = path.split(separator: "/")
    guard !parts.isEmpty, path.isPrintable, !parts.contains(where: { $0 == ".." || $0 == "." }) else {
      throw Unusable(reason: "the project's path does not name a folder")
    }
    guard (1...Self.clientIDLimit).contains(clientID.utf8.count), clientID.isPrintable,
      !clientID.contains(":"), !clientID.contains("/")
    else { throw Unusable(reason: "the client ID can't be a JACK client's name") }
    self.path = "/" + parts.joined(separator: "/")
    self.displayName = String(displayName.prefix(Self.nameLimit))
    self.clientID = clientID
  }
}
