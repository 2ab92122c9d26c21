// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import ControlSurface
import Glibc
import Link
import Linux
import MIDIControl
import OSC
import Synchronization
import TerminalView

/// A tactus that runs elsewhere, as it tells of itself over OSC, for a view of it here: what it says comes in on one thread, the
/// view's keys on another.
final class DistantTactus: Viewed {
  fileprivate struct Held {
    var told = ToldState()
    var isAnswering = true
    /// Keys on their way, as messages.
    var orders: [Message] = []
  }

  /// Nobody presses more between two looks.
  private static let orderLimit = 64

  let place: String?
  let news = WakeUp()
  /// Heard when a key was pressed.
  let keys = WakeUp()
  private let secretPath: String?
  private let held = Mutex(Held())

  /// - Parameter place: nil: this machine, whose user can read the page's code.
  init(at place: String?) {
    self.place = place
    secretPath = place == nil ? SecretFile.path() : nil
    // Without it a key waits a tenth of a second.
    try? keys.open()
  }

  var state: SurfaceState { held.withLock { $0.told.state } }
  var takesKeys: Bool { held.withLock { $0.isAnswering } }
  var endpoints: [Endpoint] { reached(held.withLock { $0.told.reach }) }
  var pairingCode: String? { secretPath.flatMap { try? SecretFile.read($0) }?.groups }

  /// Of what it says of its addresses, those that are some: what is missing stands behind them.
  private func reached(_ words: String) -> [Endpoint] {
    words.prefix { $0 != ";" }.split(separator: ",").prefix(8).compactMap { Endpoint($0.drop { $0 == " " }) }
  }

  var reach: Reach {
    let all = endpoints
    // Every address of another machine is the one that it is seen at.
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

  func take(_ messages: [Message], ahead: Micros) {
    held.withLock { held in
      held.isAnswering = true
      held.told.ahead = ahead
      for message in messages { held.told.take(message) }
    }
    news.signal()
  }

  func isSilent() { held.withLock { $0.isAnswering = false } }
}

extension DistantTactus.Held {
  /// A tap says when it was: the way there does not count.
  fileprivate func message(_ target: Target, at time: Micros) -> Message? {
    guard target.path == "tempo/tap", target.arguments.isEmpty else { return Table.standard.message(target) }
    return Message(
      Table.address(target.path), .float32(1), .float64(Double((time + told.ahead).count)))
  }
}

/// By how much another machine's clock is ahead of this one's, from questions that came back: the fastest of the last ones says it
/// best, to half the time that it took.
struct ClockGuess {
  /// Clocks drift apart: an older one is worth less than a slower one.
  static let remembered = 16

  private var last: [(trip: Int64, ahead: Int64)] = []

  var ahead: Micros { Micros(last.min { $0.trip < $1.trip }?.ahead ?? 0) }

  mutating func take(asked: Micros, answered: Micros, theirs: Double) {
    guard theirs.isFinite, answered >= asked else { return }
    let trip = answered - asked
    let middle = asked + Micros(trip.count / 2)
    last.append((trip.count, (Micros(rounding: theirs) - middle).count))
    if last.count > Self.remembered { last.removeFirst() }
  }
}
