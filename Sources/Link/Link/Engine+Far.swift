// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
package import LinkBeatMath
internal import LinkSession
internal import LinkSystem

// The connection with other rooms (networks joined over the Internet).
extension Link {
  /// Sets the correction for asymmetric paths to the other rooms, and the distance: the number of beats by
  /// which the grids of the other rooms are later. The correction takes effect slowly, the distance at once.
  /// `calls` has an additional correction for each called room, in the order of `FarSettings.calls`.
  ///
  /// Thread-safe: yes. Real-time-safe: no, it may wait.
  package func setFar(correction: Micros, distance: Beats, calls: [Micros]) {
    network.withEngine { engine, now in
      engine.setFar(correction: correction, distance: distance, calls: calls, at: now)
    }
  }
}

extension Engine {
  mutating func receiveRooms(_ bytes: UnsafeRawBufferPointer, _ arrival: UDPSocket.Arrival) {
    carryOut(far?.receive(bytes, arrival, of: gateways.machine) ?? [])
  }

  /// The port for the sockets to other rooms, if it is time to open these sockets. The calling thread opens
  /// them without the lock.
  func farPortToOpen(at now: Micros) -> UInt16? { session.isEnabled ? far?.portToOpen(at: now) : nil }

  /// Takes over the opened sockets. If Link was disabled meanwhile, they are closed when these values are
  /// released.
  mutating func takeFar(_ opened: Result<[FarSocket], SystemFailure>, at now: Micros) {
    guard session.isEnabled else { return }
    far?.adopt(opened, at: now)
    lookAfterFar(at: now)
  }

  mutating func lookAfterFar(at now: Micros) {
    carryOut(far?.meetDeadlines(at: now) ?? [])
  }

  /// Applies the user's new settings for other rooms while Link runs.
  mutating func setFar(correction: Micros, distance: Beats, calls: [Micros], at now: Micros) {
    carryOut(far?.set(correction: correction, distance: distance, calls: calls) ?? [])
  }

  /// Gives the session the messages of other rooms, and the rooms that came or went.
  private mutating func carryOut(_ events: [FarWires.Event]) {
    for event in events {
      let now = HostClock.micros()
      switch event {
      case .opened(let gateway): feed(.gatewayOpened(gateway), at: now)
      case .closed(let id): feed(.gatewayClosed(id), at: now)
      case .changed(let gateway):
        guard let far = gateway.far else { continue }
        feed(.farWire(correction: far.correction, distance: far.distance, on: gateway.id), at: now)
      case .arrived(let bytes, let id, let channel, let waited):
        guard let relay = far?.relay(of: id) else { continue }
        bytes.withUnsafeBytes {
          session.receive($0, from: relay, on: id, via: channel, waited: waited, at: now)
        }
        drain()
      }
    }
  }
}
