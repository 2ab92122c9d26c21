// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
public import Choices

/// Keeps our connections in mind while there is a server, and makes them again when it has returned.
struct Patchbay {
  /// Other programs come back after the server, and some take their time.
  private static let restoreFor = Micros(30_000_000)
  private static let restoreInterval = Micros(100_000)
  /// After a change, for so long: a port that has just come may not be ready for a connection, and what was cut may still look
  /// connected.
  private static let settling = Micros(2_000_000)

  private var memory = ConnectionMemory()
  private var missing: Set<Connection> = []
  /// Asked for, and not made yet: without a limit of time, since a session's other programs start when they do.
  private var wished: Set<Connection> = []
  private var standing = StandingConnections()
  private var restoreUntil = Micros.zero
  private var nextLook = Micros.zero
  private var settledAt = Micros.zero
  private var isNew = false

  /// What there is, was, or is waited for.
  var known: Set<Connection> { memory.remembered.union(wished) }

  /// False if there are too many.
  mutating func wish(for connections: Set<Connection>) -> Bool {
    let all = wished.union(connections)
    guard all.count <= ConnectionMemory.limit else { return false }
    wished = all
    isNew = true
    return true
  }

  mutating func want(_ connections: [StandingConnection]) {
    standing.want(connections)
    isNew = true
  }

  mutating func serverLost() {
    memory.serverLost()
    standing.serverLost()
  }

  mutating func serverReturned(at now: Micros) {
    missing = memory.remembered
    restoreUntil = now + Self.restoreFor
    nextLook = now
  }

  /// JACK says when ports and connections change, jack2 a cycle or more before that can be seen. Where nothing does, nobody
  /// looks.
  mutating func isLookDue(graphChanged: Bool, at now: Micros) -> Bool {
    let isChange = graphChanged || isNew
    isNew = false
    if isChange { settledAt = now + Self.settling }
    let isBusy = memory.isUndecided || !missing.isEmpty || now < settledAt
    guard isChange || (isBusy && now >= nextLook) else { return false }
    nextLook = now + Self.restoreInterval
    return true
  }

  /// [control]
  mutating func step(on client: RunningClient, graphChanged: Bool, at now: Micros) {
    guard isLookDue(graphChanged: graphChanged, at: now) else { return }
    // What is made once is not made again: if it is cut after that, somebody wanted it so.
    for connection in missing where client.connect(connection) { missing.remove(connection) }
    for connection in wished where client.connect(connection) { wished.remove(connection) }
    if !standing.wanted.isEmpty {
      standing.step(client.portsSeen, client: client.name, connect: client.connect(from:to:))
    }
    if now >= restoreUntil { missing = [] }
    let returned = memory.takeReturned(portExists: client.exists(port:))
    if !returned.isEmpty {
      missing.formUnion(returned)
      restoreUntil = now + Self.restoreFor
    }
    memory.observe(client.connections, at: now, portExists: client.exists(port:))
  }
}

/// One of our ports connected with a port of someone else, by names: handles die with the server, and channels' ports come and
/// go.
public struct Connection: Hashable, Sendable {
  /// Of ours, without its client.
  public let port: String
  /// The other port with its client, for instance `system:playback_1`.
  public let other: String

  public init(port: String, other: String) {
    self.port = port
    self.other = other
  }

  public init(port: Port, other: String) { self.init(port: port.name, other: other) }
}

/// Which connections our ports have, so that they can be made again after the server was gone.
///
/// A connection is forgotten only if it stays cut while both of its ports exist: that was somebody's wish.
/// If one of them is gone as well, its program, its channel or the whole server is going down, and it may come back.
struct ConnectionMemory {
  /// A server that shuts down in order cuts first and unregisters after; no user can tell this from now.
  static let forgetAfter = Micros(1_000_000)
  static let limit = 512

  private(set) var remembered: Set<Connection> = []
  private(set) var refusedCount = 0
  private var cutSince: [Connection: Micros] = [:]
  /// Remembered, and our own port is gone.
  private var parted: Set<Connection> = []

  /// `portExists` is asked for other programs' ports by their full names, and for ours without the client's.
  mutating func observe(_ present: Set<Connection>, at now: Micros, portExists: (String) -> Bool) {
    for connection in present where !remembered.contains(connection) {
      if remembered.count < Self.limit {
        remembered.insert(connection)
      } else {
        refusedCount += 1
      }
    }
    parted = remembered.filter { !portExists($0.port) }
    for connection in remembered {
      if present.contains(connection) || !portExists(connection.other) || !portExists(connection.port) {
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

  /// What a port of ours had before it went, once it is back: nobody cut that.
  mutating func takeReturned(portExists: (String) -> Bool) -> Set<Connection> {
    let returned = parted.filter { portExists($0.port) }
    parted.subtract(returned)
    return returned
  }

  /// The server is gone: nothing that was seen missing lately counts as cut by the user.
  mutating func serverLost() {
    cutSince = [:]
  }

  /// Whether a cut is still being judged, so that somebody has to look again.
  var isUndecided: Bool { !cutSince.isEmpty }
}
