// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Testing

@testable import ControlSurface

@Suite("Floods")
struct FloodTests {
  private func peer(_ number: Int) -> Peer {
    Peer(Endpoint(Host(ipv4: 0x0a00_0000 + UInt32(number >> 8)), port: UInt16(1000 + number & 255)))
  }

  @Test("Each source has its turn: a ping waits for one packet of each of the others, however many they sent")
  func turns() {
    var inbox = Inbox()
    for _ in 0..<50 { for source in 0..<100 { inbox.put([UInt8(source)], from: peer(source)) } }
    #expect(inbox.count == Limits.inbox)
    inbox.put([200], from: peer(200))
    var before = 0
    while let (datagram, _) = inbox.next(), datagram != [200] { before += 1 }
    #expect(before == 100)
  }

  @Test("A single controller's burst is read in its order, and nothing of it is lost")
  func burst() {
    var inbox = Inbox()
    for value in 0..<1500 { inbox.put([UInt8(value & 255), UInt8(value >> 8)], from: peer(1)) }
    for value in 0..<1500 { #expect(inbox.next()?.datagram == [UInt8(value & 255), UInt8(value >> 8)]) }
    #expect(inbox.next() == nil && inbox.isEmpty && inbox.dropped == 0)
  }

  @Test("It holds what it may and no more, whoever sends what and when")
  func bounded() {
    var inbox = Inbox()
    var mutator = PacketMutator(dice: 4711)
    var inside = 0
    for _ in 0..<30_000 {
      if mutator.roll(3) > 0 {
        let lost = inbox.dropped
        inbox.put([1], from: peer(mutator.roll(4000)))
        if inbox.dropped == lost { inside += 1 }
      } else if inbox.next() != nil {
        inside -= 1
      }
      #expect(inbox.count == inside && inbox.count <= Limits.inbox)
    }
    while inbox.next() != nil { inside -= 1 }
    #expect(inside == 0 && inbox.isEmpty)
  }

  @Test(
    "From more sources than can be remembered come no more errors than from one, and a ping is still answered"
  )
  func crowd() {
    var desk = Desk()
    for round in 0..<4 {
      for source in 0..<Limits.sources + 500 {
        if source % 100 == 0 { desk.now = desk.now + Micros(1000) }
        desk.send("/tactus/tempo", .string("banana"), from: peer(source))
      }
      if round == 0 { desk.forget() }
    }
    #expect(desk.machine.rates.count <= Limits.sources)
    let crowded = desk.errors.count
    // Five a second from each that is remembered, and five from all others together; less than half a second passed.
    #expect(crowded <= 6 * Limits.sources)
    desk.forget()
    desk.send("/tactus/ping", from: Desk.local)
    #expect(desk.told("pong").count == 1)
  }
}
