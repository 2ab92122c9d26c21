// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusMIDI
import TactusOSC
import Testing

@testable import TactusSurface

/// A search for the packet that causes the most work. It changes one message, keeps the change if it causes
/// more work, and starts anew when no change helps. Work is counted as outputs to the program and to peers,
/// and as steps of pattern matching.
private struct Search {
  static let pieces = [
    "/tactus/", "//", "*", "?", "[!a]", "[a-z]", "{,}", "{click,clock}", "{,a,b,c}", "/klick/simple/", "x",
    "query", "ping",
    "subscribe", "unsubscribe", "midi/list", "midi/forget", "midi/learn", "tempo", "quantum", "peers",
    "click", "set_", "/",
    "subscribe/9000/all",
  ]
  static let texts = [
    "", "*", "//*", "all", "state beat", "click", "note 36 = tempo/tap", "{,}{,}{,}{,}{,}{,}{,}{,}x", "now",
  ]

  var dice: PacketMutator

  mutating func message() -> Message {
    var address = ""
    for _ in 0...dice.roll(6) { address += Self.pieces[dice.roll(Self.pieces.count)] }
    if dice.roll(2) == 0 {
      address = "/tactus/" + Table.standard.rows[dice.roll(Table.standard.rows.count)].path
    }
    // Sometimes use the same piece many times.
    if dice.roll(4) == 0 {
      let piece = Self.pieces[dice.roll(Self.pieces.count)]
      address = "/tactus/" + String(repeating: piece, count: dice.roll(240 / piece.utf8.count + 1)) + "x"
    }
    if !address.hasPrefix("/") { address = "/" + address }
    let arguments: [Argument] = (0..<dice.roll(4)).map { _ in
      switch dice.roll(4) {
      case 0: .int32(Int32(dice.roll(10_000)))
      case 1: .string(Self.texts[dice.roll(Self.texts.count)])
      case 2: .truth(true)
      default: .string(String(repeating: Self.pieces[dice.roll(Self.pieces.count)], count: dice.roll(60)))
      }
    }
    return Message(String(address.prefix(255)), arguments: arguments)
  }

  mutating func changed(_ packet: [Message]) -> [Message] {
    var packet = packet
    switch dice.roll(4) {
    case 0 where !packet.isEmpty: packet[dice.roll(packet.count)] = message()
    case 1: packet = Array(repeating: message(), count: 1 + dice.roll(PacketCheck.messageLimit))
    case 2 where !packet.isEmpty:
      packet += Array(repeating: packet[dice.roll(packet.count)], count: dice.roll(100))
    default: packet.append(message())
    }
    return Array(packet.prefix(PacketCheck.messageLimit))
  }
}

@Suite("Limits for the cost of input")
struct CostTests {
  @Test
  func `queries from spoofed sources get few answers, from trusted peers all`() {
    var settings = SurfaceSettings()
    settings.targets = [Peer(Endpoint(Desk.tablet.endpoint.address, port: 1))]
    var desk = Desk(settings)
    let stranger = Peer(Endpoint(Address.v4(0x0a00_0063), port: 53))
    let query = LibloCodec.encode(Message("/tactus/query"))
    for _ in 0..<1000 {
      desk.send(bytes: query, from: stranger)
      desk.wait(0.01)
    }
    let bytesSent = desk.datagrams.filter { $0.to == stranger.endpoint }.reduce(0) { $0 + $1.bytes.count }
    #expect(
      (30_000...33_000 + 8 * 1000 * query.count).contains(bytesSent), "\(bytesSent) bytes in ten seconds")
    for peer in [Desk.tablet, Desk.local] {
      desk.forget()
      for _ in 0..<30 {
        desk.send("/tactus/query", from: peer)
        desk.wait(2)
      }
      #expect(desk.valuesSent("update", to: peer.endpoint).count == 60)
    }
  }

  /// A desk with three subscribers and a hundred learned bindings.
  private func busy() -> Desk {
    var settings = SurfaceSettings()
    settings.learned = (0..<100).compactMap { MIDIBinding("note \($0) = click/toggle") }
    var desk = Desk(settings)
    for index in 1...3 {
      desk.send("/tactus/subscribe", .string("all"), from: Peer(Endpoint(Address.v4(UInt32(index)), port: 9)))
    }
    desk.wait(0.1)
    desk.forget()
    return desk
  }

  /// The work that a datagram has caused, in microseconds by the generous estimates of `Cost`: 4 us for a
  /// command to the program, for a sent datagram and for a notice; 1 us for a hundred bytes of answers; 1 us
  /// for two hundred steps of pattern matching.
  private func work(_ desk: Desk, _ steps: Int) -> Int {
    4 * (desk.orders.count + desk.datagrams.count + desk.notices.count)
      + desk.datagrams.reduce(0) { $0 + $1.bytes.count } / 100 + steps / 200
  }

  @Test(arguments: [1, 2])
  func `no OSC packet that a search finds causes more work than is allowed`(seed: UInt64) {
    var search = Search(dice: PacketMutator(dice: seed &* 0x9e37_79b9_7f4a_7c15))
    let fresh = busy()
    var best: (packet: [Message], work: Int) = ([], 0)
    var costliest = best
    var failures = 0
    var tries = 0
    // Continue the search until it finds a costly packet: otherwise the search proves nothing.
    let costly = Cost.datagram / 7
    while tries < 60 || costliest.work <= costly && tries < 600 {
      tries += 1
      let packet = search.changed(best.packet)
      var bytes = Array("#bundle\0".utf8) + [0, 0, 0, 0, 0, 0, 0, 1]
      for message in packet {
        let encoded = LibloCodec.encode(message)
        guard bytes.count + encoded.count < 65_000 else { break }
        bytes += sizeWord(encoded.count) + encoded
      }
      var desk = fresh
      desk.send(bytes: bytes)
      #expect(desk.cost <= Cost.datagram)
      let work = work(desk, desk.machine.counters.patternSteps)
      if work > best.work {
        (best, failures) = ((packet, work), 0)
      } else {
        failures += 1
      }
      if best.work > costliest.work { costliest = best }
      if failures > 25 { (best, failures) = (([], 0), 0) }
    }
    #expect(costliest.work > costly)
    #expect(
      costliest.work <= Cost.datagram, "\(costliest.packet.count) of \(costliest.packet.first?.address ?? "")"
    )
  }
}
