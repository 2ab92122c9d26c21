// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// Keeps our connections in mind while there is a server, and makes them again when it has returned.
struct Patchbay {
  /// Other programs come back after the server, and some take their time.
  private static let restoreFor = Micros(30_000_000)
  private static let restoreInterval = Micros(100_000)

  private var memory = ConnectionMemory()
  private var missing: Set<Connection> = []
  private var restoreUntil = Micros.zero
  private var nextLook = Micros.zero

  /// What would be made again if the server went and came.
  var remembered: Set<Connection> { memory.remembered }

  mutating func serverLost() {
    memory.serverLost()
  }

  mutating func serverReturned(at now: Micros) {
    missing = memory.remembered
    restoreUntil = now + Self.restoreFor
    nextLook = now
  }

  /// [control]
  mutating func step(on client: RunningClient, graphChanged: Bool, at now: Micros) {
    let isBusy = memory.isUndecided || !missing.isEmpty
    guard graphChanged || (isBusy && now >= nextLook) else { return }
    nextLook = now + Self.restoreInterval
    // What is made once is not made again: if it is cut after that, somebody wanted it so.
    for connection in missing where client.exists(port: connection.other) && client.connect(connection) {
      missing.remove(connection)
    }
    if now >= restoreUntil { missing = [] }
    memory.observe(client.connections, at: now, portExists: client.exists(port:))
  }
}
