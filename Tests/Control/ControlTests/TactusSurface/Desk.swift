// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import TactusMIDI
import TactusOSC

@testable import TactusSurface

extension SurfaceSettings {
  /// Settings in which the user has named the tablet as a controller.
  static var paired: SurfaceSettings {
    var settings = SurfaceSettings()
    settings.allow = [AddressRange("10.0.0.0/8")].compactMap { $0 }
    return settings
  }
}

extension Node {
  /// A sender from which the row accepts messages.
  var sender: Peer { reach == .anyone ? Desk.tablet : Desk.local }
}

/// A surface, a program and controllers, all in the same virtual time. No socket is open.
struct Desk {
  static let epoch: Int64 = 1_700_000_000
  var machine: SurfaceMachine
  var program = FakeProgram()
  var now = Micros(1_000_000)
  var sent: [(message: Message, to: Endpoint, at: Micros)] = []
  var datagrams: [(bytes: [UInt8], to: Endpoint)] = []
  var notices: [Notice] = []
  /// Messages to programs that did not subscribe.
  var outward: [(message: Message, to: Endpoint, at: Micros)] = []
  var orders: [Order] = []
  var learned: [MIDIBinding] = []
  /// The changes that wait for a beat, each with the number of commands that came before it.
  var queued: [(change: QueuedChange?, orders: Int)] = []
  /// The cost of the last datagram, in microseconds.
  var cost = 0

  static let tablet = Peer(Endpoint(Address.v4(0x0a00_0005), port: 51_000))
  static let local = Peer(Endpoint(.loopback, port: 40_000))

  init(_ settings: SurfaceSettings = SurfaceSettings()) {
    machine = SurfaceMachine(settings, state: program.state, clocks: Self.clocks(at: Micros(1_000_000)))
    drain()
  }

  static func clocks(at time: Micros) -> Clocks {
    Clocks(
      host: time, unixSeconds: epoch + time.count / 1_000_000, nanoseconds: time.count % 1_000_000 * 1000)
  }

  var clocks: Clocks { Self.clocks(at: now) }

  /// The time after this many seconds, as an OSC timetag.
  func timetag(in seconds: Double) -> UInt64 {
    Self.clocks(at: now + Micros(rounding: seconds * 1e6)).wall.rawValue
  }

  mutating func send(_ address: String, _ arguments: Argument..., from peer: Peer = Desk.tablet) {
    send(bytes: LibloCodec.encode(Message(address, arguments: arguments)), from: peer)
  }

  mutating func send(bytes: [UInt8], from peer: Peer = Desk.tablet) {
    cost = bytes.withUnsafeBytes { machine.receive($0, from: peer, clocks: clocks) }
    drain()
  }

  mutating func drain() {
    var isOrdered = false
    while let output = machine.nextOutput() {
      switch output {
      case .send(let bytes, let peer):
        datagrams.append((bytes, peer.endpoint))
        bytes.withUnsafeBytes { raw in
          for part in (try? PacketCheck.parts(of: raw)) ?? [] {
            if let message = LibloCodec.decode(UnsafeRawBufferPointer(rebasing: raw[part.range])) {
              sent.append((message, peer.endpoint, now))
            }
          }
        }
      case .outward(let bytes, let target):
        if let message = bytes.withUnsafeBytes({ LibloCodec.decode($0) }) {
          outward.append((message, target, now))
        }
      case .order(let order):
        orders.append(order)
        let verdict = program.obey(order)
        machine.settle(order, verdict, clocks: clocks)
        isOrdered = true
      case .notice(let notice):
        notices.append(notice)
      case .learned(let bindings):
        learned = bindings
      case .queued(let change):
        queued.append((change, orders.count))
      }
    }
    guard isOrdered else { return }
    machine.update(program.state, clocks: clocks)
    drain()
  }

  mutating func update(_ change: (inout SurfaceState) -> Void) {
    change(&program.state)
    machine.update(program.state, clocks: clocks)
    drain()
  }

  /// Lets time pass; the surface acts at each of its deadlines in between.
  mutating func wait(_ seconds: Double) {
    let end = now + Micros(rounding: seconds * 1e6)
    while now < end {
      now = min(end, max(machine.deadline, now + Micros(1)))
      program.launchIfDue(at: now)
      machine.update(program.state, clocks: clocks)
      machine.tick(clocks: clocks)
      drain()
    }
  }

  /// The arguments of each message that was sent at an address since the last call of `forget`.
  func valuesSent(_ path: String, to endpoint: Endpoint? = nil) -> [[Argument]] {
    sent.filter { $0.message.address == "/tactus/" + path && (endpoint == nil || $0.to == endpoint) }
      .map(\.message.arguments)
  }

  var errors: [String] {
    sent.filter { $0.message.address == "/tactus/error" }.compactMap {
      if case .string(let text)? = $0.message.arguments.first { text } else { nil }
    }
  }

  var errorCodes: [Int32] {
    sent.filter { $0.message.address == "/tactus/error" }.compactMap {
      if case .int32(let code)? = $0.message.arguments.last { code } else { nil }
    }
  }

  mutating func forget() {
    sent = []
    datagrams = []
    outward = []
    notices = []
    orders = []
    queued = []
    program.commands = []
  }
}

/// The size field in front of each element of a bundle.
func sizeWord(_ count: Int) -> [UInt8] { withUnsafeBytes(of: UInt32(count).bigEndian) { Array($0) } }
