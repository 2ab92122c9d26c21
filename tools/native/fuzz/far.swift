// SPDX-License-Identifier: GPL-2.0-or-later
import FarLink
import LinkAddresses
import LinkBeatMath
import LinkSession
import LinkWire

// libFuzzer calls this with each mutated series of datagrams of a far wire, under the address sanitizer.
// `tools/bench fuzz far` builds it.
//
// A real cipher would refuse all of them. The cipher here has an authentication tag of sixteen zeros, so that
// the code behind the check is reached, too: handshakes, keep-alives, and Link's own datagrams from another
// room, which go to a session with a far gateway.

private enum OpenCipher: FarCipher {
  static func publicHalf(of secret: FarKey) -> FarKey { secret }
  static func shared(_ secret: FarKey, with publicHalf: FarKey) -> FarKey? {
    publicHalf.bytes[0] == 0xff ? nil : publicHalf
  }
  static func hash(_ bytes: [UInt8]) -> FarKey { FarKey([UInt8](repeating: 2, count: FarKey.size))! }
  static func hmac(_ bytes: [UInt8], key: FarKey) -> FarKey { key }
  static func seal(_ plain: [UInt8], _ key: FarKey, number: UInt64, header: [UInt8]) -> [UInt8] {
    plain + [UInt8](repeating: 0, count: FarLimits.tag)
  }
  static func open(_ sealed: [UInt8], _ key: FarKey, number: UInt64, header: [UInt8]) -> [UInt8]? {
    guard sealed.count >= FarLimits.tag, sealed.suffix(FarLimits.tag).allSatisfy({ $0 == 0 }) else {
      return nil
    }
    return [UInt8](sealed.dropLast(FarLimits.tag))
  }
}

private struct Dice: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state ^ state >> 29
  }
}

private let gateway = GatewayID(rawValue: 1)
private let relay = Endpoint(.v6(high: 0x0100 << 48, low: 1, scope: 0), port: 1)

/// A room (a network with a relay to another room) that accepts calls and makes calls, and its session.
private struct Room {
  var random = Dice(state: 7)
  var board: Switchboard
  var session: LinkSession
  var now = Micros(1_000_000)
  /// The receiver index that datagrams to this room must carry.
  var index: [UInt8] = [0, 0, 0, 0]

  init() {
    let key = FarKey([UInt8](repeating: 1, count: FarKey.size))!
    board = Switchboard(key: key, cipher: OpenCipher.self, accepts: true, using: &random, at: now)
    session = LinkSession(tempo: Tempo(120), seed: 1, isRelay: true, at: now)
    session.handle(.enable(true), at: now)
    let far = FarWire(relay: relay, distance: Beats(millionths: 4_000_000))
    session.handle(
      .gatewayOpened(Gateway(id: gateway, address: relay.address, measurement: relay, far: far)), at: now)
    board.call(0, at: [Endpoint(.v4(0x0a00_0001), port: 7)], at: now)
  }

  mutating func receive(_ datagram: [UInt8], from sender: Endpoint, later: Micros) {
    now = now + later
    if let due = board.nextDeadline, due <= now { board.meetDeadlines(at: now, using: &random) }
    _ = drain()
    _ = datagram.withUnsafeBytes { board.receive($0, from: sender, at: now, using: &random) }
    let sent = drain()
    precondition(sent.count <= 3 && sent.allSatisfy { $0 < 600 }, "one datagram has many sent")
    if datagram.first == 1 {
      precondition(sent.reduce(0, +) < datagram.count || sent.isEmpty, "an answer longer than the hello")
    }
    session.handle(.deadline, at: now)
    while true { if case .sleep = session.nextOutput() { break } }
    let tempo = session.snapshot.state.tempo
    precondition(tempo >= 20 && tempo <= 999, "tempo out of range")
    precondition(board.views.count <= 2 * FarLimits.lines, "lines without an end")
  }

  /// Takes the outputs, and returns the sizes of the datagrams sent.
  private mutating func drain() -> [Int] {
    var sent: [Int] = []
    while let output = board.nextOutput() {
      switch output {
      case .send(let bytes, _):
        sent.append(bytes.count)
        if bytes.first == 2 { index = Array(bytes[45..<49]) }
      case .arrived(let bytes, let channel, _):
        bytes.withUnsafeBytes {
          session.receive(
            $0, from: relay, on: gateway, via: channel == .measurement ? .measurement : .discovery, at: now)
        }
      case .opened, .closed: break
      }
    }
    return sent
  }
}

/// The input is a series of datagrams. Each has its length (2 bytes), a
/// byte for its sender and time, and its bytes.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let input = UnsafeBufferPointer(start: bytes, count: count)
  var room = Room()
  var place = 0
  while place + 3 <= input.count {
    let length = min(Int(input[place]) << 8 & 0x300 | Int(input[place + 1]), input.count - place - 3)
    let kind = input[place + 2]
    var datagram = Array(input[place + 3..<place + 3 + length])
    place += 3 + length
    // A mutation cannot guess this room's index, so write it into the datagram here.
    if kind & 1 != 0, datagram.count > 5, datagram[0] == 3 {
      datagram.replaceSubrange(1..<5, with: room.index)
    }
    let sender = Endpoint(.v4(0x0a00_0001 + UInt32(kind >> 1 & 3)), port: 7)
    room.receive(datagram, from: sender, later: Micros(Int64(kind >> 3) * 200_000))
  }
  return 0
}
