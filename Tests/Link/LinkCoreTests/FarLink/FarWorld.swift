// SPDX-License-Identifier: GPL-2.0-or-later
import FarLink
import LinkAddresses
import LinkBeatMath
import LinkSodium

/// The connections of several programs (`Switchboard`) on a simulated network that delays and loses
/// datagrams, can be cut, and records all datagrams for replays.
struct FarWorld {
  struct Side {
    var board: Switchboard
    var address: Endpoint
    var arrived: [(line: LineID, channel: FarChannel, bytes: [UInt8])] = []
    var opened: [LineID] = []
    var closed: [LineID] = []
    var sent: [Flight] = []
    /// Whether the last datagram showed the present endpoint of a caller.
    var isCallerHeard = false
  }

  struct Flight {
    var due: Micros
    var from: Endpoint
    var to: Endpoint
    var bytes: [UInt8]
  }

  static let key = FarKey((0..<32).map { UInt8($0) })!
  static let anotherKey = FarKey((0..<32).map { UInt8($0 + 1) })!

  var now: Micros
  var sides: [Side] = []
  var delay = Micros(60_000)
  var jitter: Int64 = 0
  var loss = 0.0
  var isCut = false
  /// Endpoints that the network does not reach.
  var off: Set<Endpoint> = []
  var dice: SeededDice
  private(set) var flights: [Flight] = []
  /// All datagrams that were sent.
  private(set) var recording: [Flight] = []
  /// The sent datagrams that arrived.
  private(set) var delivered: [Flight] = []

  init(seed: UInt64 = 1, at now: Micros = Micros(1_000_000)) {
    dice = SeededDice(seed: seed)
    self.now = now
  }

  static func place(_ number: Int) -> Endpoint {
    Endpoint(.v4(0x0a00_0000 + UInt32(number)), port: 20_808)
  }

  @discardableResult
  mutating func add(accepts: Bool = false, key: FarKey = FarWorld.key) -> Int {
    let board = Switchboard(key: key, cipher: Sodium.self, accepts: accepts, using: &dice, at: now)
    sides.append(Side(board: board, address: FarWorld.place(sides.count + 1)))
    return sides.count - 1
  }

  /// Restarts the program on the same machine.
  mutating func restart(_ side: Int, accepts: Bool, key: FarKey = FarWorld.key) {
    sides[side].board = Switchboard(key: key, cipher: Sodium.self, accepts: accepts, using: &dice, at: now)
  }

  mutating func call(_ side: Int, _ other: Int, number: Int = 0) {
    sides[side].board.call(number, at: [sides[other].address], at: now)
    settle(side)
  }

  /// A world with two sides that have proven that they have the key. The caller is the first side.
  static func pair(seed: UInt64 = 1, at now: Micros = Micros(1_000_000)) -> FarWorld {
    var world = FarWorld(seed: seed, at: now)
    world.add()
    world.add(accepts: true)
    world.call(0, 1)
    world.run(for: Micros(2_000_000))
    return world
  }

  mutating func send(_ text: String, from side: Int, line: Int = 0, as channel: FarChannel = .discovery) {
    let id = sides[side].board.views[line].id
    [UInt8](text.utf8).withUnsafeBytes { sides[side].board.send($0, as: channel, on: id, at: now) }
    settle(side)
  }

  func heard(by side: Int) -> [String] {
    sides[side].arrived.map { String(decoding: $0.bytes, as: UTF8.self) }
  }

  mutating func hangUp(_ side: Int) {
    sides[side].board.hangUp(at: now)
    settle(side)
  }

  /// Passes bytes to a side's switchboard, as if they were a datagram from `sender`.
  mutating func inject(_ bytes: [UInt8], into side: Int, from: Endpoint) {
    sides[side].isCallerHeard = bytes.withUnsafeBytes {
      sides[side].board.receive($0, from: from, at: now, using: &dice)
    }
    settle(side)
  }

  /// Lets time pass. Deadlines and arrivals of datagrams come in order.
  mutating func run(for duration: Micros, _ each: (inout FarWorld) -> Void = { _ in }) {
    let end = now + duration
    while true {
      let deadline = sides.compactMap(\.board.nextDeadline).min()
      let next = [deadline, flights.map(\.due).min()].compactMap(\.self).min()
      guard let next, next <= end else { break }
      now = max(now, next)
      while let place = flights.firstIndex(where: { $0.due <= now }) {
        let flight = flights.remove(at: place)
        if let side = sides.firstIndex(where: { $0.address == flight.to }) {
          inject(flight.bytes, into: side, from: flight.from)
          delivered.append(flight)
        }
      }
      for side in sides.indices where sides[side].board.nextDeadline.map({ $0 <= now }) ?? false {
        sides[side].board.meetDeadlines(at: now, using: &dice)
        settle(side)
      }
      each(&self)
    }
    now = end
  }

  private mutating func settle(_ side: Int) {
    while let output = sides[side].board.nextOutput() {
      switch output {
      case .send(let bytes, let to):
        let late = jitter > 0 ? Int64.random(in: 0...jitter, using: &dice) : 0
        let flight = Flight(due: now + delay + Micros(late), from: sides[side].address, to: to, bytes: bytes)
        recording.append(flight)
        sides[side].sent.append(flight)
        guard !isCut, !off.contains(flight.from), !off.contains(to),
          !(loss > 0 && Double.random(in: 0..<1, using: &dice) < loss)
        else { continue }
        flights.append(flight)
      case .opened(let id): sides[side].opened.append(id)
      case .closed(let id): sides[side].closed.append(id)
      case .arrived(let bytes, let channel, let id): sides[side].arrived.append((id, channel, bytes))
      }
    }
  }

  func isProven(_ side: Int, line: Int = 0) -> Bool {
    let views = sides[side].board.views
    guard line < views.count, case .proven = views[line].state else { return false }
    return true
  }
}

/// A random generator with a seed.
struct SeededDice: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var value = state
    value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
    value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
    return value ^ value >> 31
  }
}
