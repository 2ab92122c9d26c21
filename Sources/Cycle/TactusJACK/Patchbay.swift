// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
public import TactusChoices

/// Remembers the connections of our ports while a server runs, and restores them when the server has
/// returned.
struct Patchbay {
  /// The time after the server's return in which missing connections are restored. Other programs return
  /// later than the server, some of them much later.
  private static let restoreFor = Micros(30_000_000)
  private static let restoreInterval = Micros(100_000)
  /// The time after a change in which we keep looking at the connections: a new port may not be ready for a
  /// connection yet, and a cut connection may still look connected.
  private static let settling = Micros(2_000_000)

  private var memory = ConnectionMemory()
  private var missing: Set<Connection> = []
  /// Connections that were asked for and are not made yet. They have no time limit: the other programs may
  /// start at any time.
  private var wished: Set<Connection> = []
  private var standing = StandingConnections()
  /// The click's cables that `connectClick` has made.
  private var clickCables: Set<Connection> = []
  private var restoreUntil = Micros.zero
  private var nextLook = Micros.zero
  private var settledAt = Micros.zero
  private var isNew = false

  /// The present, the remembered and the wished connections of our ports.
  var known: Set<Connection> { memory.remembered.union(wished) }

  /// Returns false if there would be too many wished connections.
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

  /// [control]
  mutating func connectClick(on client: RunningClient) -> ClickCable {
    guard !client.isConnected(.click1), !client.isConnected(.click2) else { return .found }
    let cables = StandingConnections.clickCables(to: client.portsSeen.speakers)
    guard !cables.isEmpty else { return .noSpeakers }
    let others = cables.map(\.other)
    let made = clickCables.union(standing.madeOfClick(client: client.name))
    guard !made.contains(where: { client.exists(port: $0.other) }) else { return .cut }
    let new = cables.filter(client.connect)
    guard !new.isEmpty else { return .refused(others) }
    clickCables.formUnion(new)
    isNew = true
    return .made(new.map(\.other))
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

  /// Whether to look at the connections now. JACK notifies us when ports and connections change, but jack2
  /// sends the notice a cycle or more before the change is visible. Without a change we do not look.
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
    // Make each connection only once: a connection that is cut afterwards was cut by the user.
    let made = missing.filter(client.connect)
    missing.subtract(made)
    for connection in wished where client.connect(connection) { wished.remove(connection) }
    if !standing.wanted.isEmpty {
      standing.step(client.portsSeen, client: client.name, connect: client.connect(from:to:))
    }
    if now >= restoreUntil { missing = [] }
    let returned = memory.takeReturned(portExists: client.exists(port:)).subtracting(made)
    if !returned.isEmpty {
      missing.formUnion(returned)
      restoreUntil = now + Self.restoreFor
    }
    memory.observe(client.connections, at: now, portExists: client.exists(port:))
  }
}

/// A connection between one of our ports and another client's port. Both ports are known by their names,
/// because libjack's handles become invalid with the server, and the ports of channels come and go.
public struct Connection: Hashable, Sendable {
  /// The name of our port, without the client's name.
  public let port: String
  /// The other port's full name, for instance `system:playback_1`.
  public let other: String

  public init(port: String, other: String) {
    self.port = port
    self.other = other
  }

  public init(port: Port, other: String) { self.init(port: port.name, other: other) }
}

/// Remembers which connections our ports have, so that they can be made again when the server returns.
///
/// A connection is forgotten only if it stays cut while both of its ports exist: in that case the user has
/// cut it. If a port is gone as well, then the port's program, its channel or the whole server went down and
/// may return.
struct ConnectionMemory {
  /// How long a connection must stay cut before it is forgotten. A server that shuts down properly first cuts
  /// connections and then unregisters ports.
  static let forgetAfter = Micros(1_000_000)
  static let limit = 512

  private(set) var remembered: Set<Connection> = []
  private(set) var refusedCount = 0
  private var cutSince: [Connection: Micros] = [:]
  /// The remembered connections of our own ports that do not exist at present.
  private var parted: Set<Connection> = []

  /// `portExists` gets the full name of another program's port, or the name of our port without our client's
  /// name.
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

  /// Returns the remembered connections of our own ports that were gone and exist again. The user did not cut
  /// these connections.
  mutating func takeReturned(portExists: (String) -> Bool) -> Set<Connection> {
    let returned = parted.filter { portExists($0.port) }
    parted.subtract(returned)
    return returned
  }

  /// Forgets the latest cuts: the server's end caused them, not the user.
  mutating func serverLost() {
    cutSince = [:]
  }

  /// Whether a connection was cut so lately that we do not know yet if the user cut it.
  var isUndecided: Bool { !cutSince.isEmpty }
}
