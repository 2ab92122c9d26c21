// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Link
import LinkBeatMath
import LinkSystem
import Synchronization
import TactusMIDI
import TactusOSC
import TactusSurface
import TactusTerminal

/// A tactus that runs elsewhere, known by its OSC messages, for a view of it here. Its messages arrive on one
/// thread, the view's keys on another.
final class DistantTactus: StateSource {
  fileprivate struct State {
    var told = RemoteState()
    var isAnswering = true
    /// The messages of pressed keys that are not sent yet.
    var orders: [Message] = []
  }

  /// The limit of waiting keys: more than a user can press between two checks.
  private static let orderLimit = 64

  let place: String?
  let news = WakeUp()
  /// Rings when the user has pressed a key.
  let keys = WakeUp()
  private let secretPath: String?
  private let held = Mutex(State())

  /// - Parameter place: the address of the other machine; nil: this machine, whose user can read the page's
  /// code.
  init(at place: String?) {
    self.place = place
    secretPath = place == nil ? SecretFile.path() : nil
    // If `open` fails, a key waits up to a tenth of a second.
    try? keys.open()
  }

  var state: SurfaceState { held.withLock { $0.told.state } }
  var takesKeys: Bool { held.withLock { $0.isAnswering } }
  var endpoints: [Endpoint] { held.withLock { $0.told.endpoints }.prefix(8).compactMap { Endpoint($0) } }
  var pairingCode: String? { secretPath.flatMap { try? SecretFile.read($0) }?.groups }

  var reach: Reach {
    let all = endpoints
    // If another machine listens at all its addresses, show the address by which we reach that machine.
    guard let place, let every = all.first(where: { $0.address.isEvery }) else {
      return Reach(all, isWanted: true)
    }
    return .network(["\(place):\(every.port)"], port: Int(every.port))
  }

  func press(_ targets: [Target], at time: Micros) {
    held.withLock { held in
      for target in targets where held.orders.count < Self.orderLimit {
        if let message = held.message(target, at: time) { held.orders.append(message) }
      }
    }
    keys.signal()
  }

  func takeOrders() -> [Message] {
    held.withLock { held in
      defer { held.orders = [] }
      return held.orders
    }
  }

  func receive(_ messages: [Message], ahead: Micros) {
    held.withLock { held in
      held.isAnswering = true
      held.told.ahead = ahead
      for message in messages { held.told.receive(message) }
    }
    news.signal()
  }

  func isSilent() { held.withLock { $0.isAnswering = false } }
}

extension DistantTactus.State {
  /// A tap carries its own time, so that the network's delay does not shift it.
  fileprivate func message(_ target: Target, at time: Micros) -> Message? {
    guard target.path == "tempo/tap", target.arguments.isEmpty else { return Table.standard.message(target) }
    return Message(
      Table.address(target.path), .float32(1), .float64(Double((time + told.ahead).count)))
  }
}

/// Estimates, from answered pings, by how much another machine's clock is ahead of this machine's. Of the
/// last pings the one with the shortest round trip is used; its error is at most half its round trip.
struct ClockGuess {
  /// How many pings are kept: clocks drift apart, so a recent slow answer is worth more than an old fast one.
  static let remembered = 16

  private var last: [(trip: Int64, ahead: Int64)] = []

  var ahead: Micros { Micros(last.min { $0.trip < $1.trip }?.ahead ?? 0) }

  mutating func measure(asked: Micros, answered: Micros, theirs: Double) {
    guard theirs.isFinite, answered >= asked else { return }
    let trip = answered - asked
    let middle = asked + Micros(trip.count / 2)
    last.append((trip.count, (Micros(rounding: theirs) - middle).count))
    if last.count > Self.remembered { last.removeFirst() }
  }
}
