// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusOSC
import Testing

@testable import TactusSurface

/// Makes OSC packets from a seed: valid packets, and packets that are cut, stretched or changed. `tools/bench
/// fuzz-osc` sends millions of such packets through a real socket under the address sanitizer.
struct PacketMutator {
  var dice: UInt64
  private static let words = [
    "now", "bar", "fast", "9000", "state beat", "all", "osc.udp://1.2.3.4:9/", "XxXx", "",
  ]

  mutating func roll(_ sides: Int) -> Int {
    dice ^= dice << 13
    dice ^= dice >> 7
    dice ^= dice << 17
    return Int(dice % UInt64(sides))
  }

  mutating func packet() -> [UInt8] {
    var packet = message()
    if roll(4) == 0 {
      let timetags: [UInt64] = [1, 0, .max, 0xe8fe_6f80_4000_0000]
      packet =
        Array("#bundle\0".utf8) + big(timetags[roll(4)]) + sizeWord(packet.count) + packet
    }
    for _ in 0..<roll(6) where !packet.isEmpty {
      switch roll(5) {
      case 0: packet[roll(packet.count)] = UInt8(roll(256))
      case 1: packet[roll(packet.count)] ^= 1 << UInt8(roll(8))
      case 2: packet.removeLast(roll(min(packet.count, 8) + 1))
      case 3: packet += (0..<roll(9)).map { UInt8(truncatingIfNeeded: $0) }
      default: packet.insert(Array("#,/*{[".utf8)[roll(6)], at: roll(packet.count))
      }
    }
    return packet
  }

  private func big(_ value: UInt64) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { Array($0) } }

  private mutating func message() -> [UInt8] {
    let row = Table.standard.rows[roll(Table.standard.rows.count)]
    var address = "/tactus/" + row.path
    switch roll(12) {
    case 0: address = Aliases.all[roll(Aliases.all.count)].address
    case 1: address = "//" + row.path
    case 2: address = "/tactus/{click,clock,*}"
    case 3: address += "/\(roll(70_000))"
    default: break
    }
    let arguments = (0..<roll(4)).map { _ in argument() }
    return LibloCodec.encode(Message(address, arguments: arguments))
  }

  private mutating func argument() -> Argument {
    switch roll(9) {
    case 0: .int32(Int32(truncatingIfNeeded: roll(.max)))
    case 1: .int64(Int64(roll(.max)))
    case 2: .float32(Float(bitPattern: UInt32(truncatingIfNeeded: roll(.max))))
    case 3: .float64(Double(bitPattern: UInt64(roll(.max))))
    case 4: .string(Self.words[roll(Self.words.count)])
    case 5: .truth(roll(2) == 0)
    case 6: .float32(Float(roll(300)))
    case 7: .impulse
    default: .null
    }
  }
}

@Suite("Hostile packets")
struct FuzzTests {
  @Test(arguments: [1, 2, 3, 4])
  func `mutated OSC packets break no limit, and tactus still answers`(seed: UInt64) {
    var mutator = PacketMutator(dice: seed &* 0x9e37_79b9_7f4a_7c15)
    var desk = Desk()
    for round in 0..<5000 {
      let source = Peer(
        Endpoint(Address.v4(UInt32(0x0a00_0000 + mutator.roll(200))), port: UInt16(mutator.roll(9) + 1)))
      desk.now = desk.now + Micros(Int64(mutator.roll(2000)))
      desk.send(bytes: mutator.packet(), from: source)
      desk.machine.tick(clocks: desk.clocks)
      if round % 100 == 0 { desk.forget() }
      #expect(desk.machine.subscribers.count <= SurfaceLimits.subscribers)
      #expect(desk.machine.agenda.count <= SurfaceLimits.agenda)
      #expect((20...999).contains(desk.program.state.tempo.beatsPerMinute))
    }
    #expect(desk.machine.counters.malformed > 100 && desk.machine.counters.messages > 100)
    // After all these packets, the surface must still answer a ping.
    desk.forget()
    desk.send("/tactus/ping", from: Desk.local)
    #expect(desk.valuesSent("pong").count == 1)
  }
}
