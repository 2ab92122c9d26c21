// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import OSC
import Testing

@testable import ControlSurface

@Suite("Floods")
struct FloodTests {
  private func peer(_ number: Int) -> Peer {
    Peer(Endpoint(Address.v4(0x0a00_0000 + UInt32(number >> 8)), port: UInt16(1000 + number & 255)))
  }

  /// What a machine would be given, each at its own moment, as long as there is something to spend.
  private func served(_ inbox: inout Inbox, at now: Micros, cost: Int) -> [[UInt8]] {
    var found: [[UInt8]] = []
    while let letter = inbox.next(at: now) {
      inbox.charge(cost, for: letter, at: now)
      found.append(letter.datagram)
    }
    return found
  }

  private let ping = LibloCodec.encode(Message("/tactus/ping"))
  private let dear = LibloCodec.encode(Message("//*"))

  @Test("A ping waits for one packet of each of the others, however many they sent, and for no dear one")
  func first() {
    for packet in [ping, dear] {
      var inbox = Inbox()
      var now = Micros.zero
      for round in 0..<50 {
        for source in 0..<100 { inbox.put(packet, from: peer(source), at: now) }
        now = now + Micros(100)
        if round == 3 { #expect(!served(&inbox, at: now, cost: Cost.datagram).isEmpty) }
      }
      #expect(inbox.count == Limits.inbox / 4 * 3)
      inbox.put(ping + [0, 0, 0, 0], from: peer(200), at: now)
      let start = now
      var before = 0
      while true {
        now = max(now, inbox.deadline ?? .zero)
        guard let letter = inbox.next(at: now), letter.datagram != ping + [0, 0, 0, 0] else { break }
        inbox.charge(Cost.message, for: letter, at: now)
        before += 1
      }
      // Of equals, one from each.
      #expect(packet == ping ? before <= 100 : before == 0 && now - start <= Micros(1000))
    }
  }

  @Test("Who has just been answered is heard beside a crowd of strangers, too")
  func afterAnAnswer() {
    var inbox = Inbox()
    var now = Micros.zero
    for _ in 0..<100 {
      inbox.put(ping, from: peer(5000), at: now)
      #expect(served(&inbox, at: now, cost: Cost.message) == [ping])
      now = now + Micros(10_000)
    }
    for source in 0..<3000 { inbox.put(dear, from: peer(source), at: now) }
    #expect(inbox.count == Limits.inbox / 4 * 3)
    inbox.put(ping, from: peer(5000), at: now)
    #expect(inbox.next(at: now)?.datagram == ping)
  }

  @Test(
    "Where thousands of ports of one host say one short thing each, there is room for another host's ping, and it is next"
  )
  func oneShortMessageEach() {
    var inbox = Inbox()
    func put(_ host: UInt32, _ port: Int) {
      inbox.put(ping, from: Peer(Endpoint(Address.v4(host), port: UInt16(port))), at: .zero)
    }
    for port in 1...Limits.inbox + 500 { put(0x0a00_0009, port) }
    #expect(inbox.count == Limits.inbox && inbox.dropped == 500)
    put(0x0a00_0005, 9000)
    #expect(inbox.count == Limits.inbox && inbox.dropped == 501)
    // Beside the one that was in turn already.
    let next = [inbox.next(at: .zero), inbox.next(at: .zero)].compactMap { $0?.peer.endpoint.address }
    #expect(next.contains(Address.v4(0x0a00_0005)))
    // Whoever makes room is of the crowd: the first of it is there still.
    #expect(next.contains(Address.v4(0x0a00_0009)))
  }

  @Test("Of strangers who say one thing each, whoever asks for little comes first")
  func strangers() {
    var inbox = Inbox()
    var now = Micros.zero
    for source in 0..<5000 {
      inbox.put(dear, from: peer(source), at: now)
      now = now + Micros(250)
      _ = served(&inbox, at: now, cost: Cost.datagram)
    }
    #expect(inbox.count == Limits.inbox / 4 * 3)
    inbox.put(ping, from: peer(9000), at: now)
    #expect((inbox.deadline ?? .zero) - now <= Micros(1000))
    #expect(inbox.next(at: inbox.deadline ?? .zero)?.datagram == ping)
  }

  @Test("Whatever floods for how long, all of it together is given less than a tenth of a core")
  func tenth() {
    for (packet, cost) in [(ping, Cost.message), (dear, Cost.datagram), (dear, 1)] {
      var inbox = Inbox()
      var spent = 0
      for millisecond in 0..<20_000 {
        let now = Micros(Int64(millisecond) * 1000)
        for source in 0..<4 { inbox.put(packet, from: peer(source), at: now) }
        spent +=
          served(&inbox, at: now, cost: cost).count * (cost + Cost.letter)
      }
      #expect((1_300_000...1_450_000).contains(spent), "\(spent) of 20 s")
    }
  }

  @Test("A single controller's burst is read in its order, and nothing of it is lost")
  func burst() {
    var inbox = Inbox()
    for value in 0..<1500 { inbox.put([UInt8(value & 255), UInt8(value >> 8)], from: peer(1), at: .zero) }
    for value in 0..<1500 {
      let letter = inbox.next(at: inbox.deadline ?? .zero)
      if let letter { inbox.charge(Cost.message, for: letter, at: inbox.deadline ?? .zero) }
      #expect(letter?.datagram == [UInt8(value & 255), UInt8(value >> 8)])
    }
    #expect(inbox.isEmpty && inbox.dropped == 0)
  }

  @Test("It holds what it may and no more, whoever sends what and when")
  func bounded() {
    var inbox = Inbox()
    var mutator = PacketMutator(dice: 4711)
    var sent = 0
    var taken = 0
    var now = Micros.zero
    var last: [Peer: Int] = [:]
    for round in 0..<10_000 {
      if mutator.roll(3) > 0 {
        let size = mutator.roll(20) == 0 ? 60_000 : 8
        inbox.put(
          withUnsafeBytes(of: round) { Array($0) } + [UInt8](repeating: 0, count: size - 8),
          from: peer(mutator.roll(8000)), at: now)
        sent += 1
      } else if let letter = inbox.next(at: now) {
        taken += 1
        inbox.charge(mutator.roll(900), for: letter, at: now)
        // Of one source each comes before the next.
        let number = letter.datagram.withUnsafeBytes { $0.loadUnaligned(as: Int.self) }
        #expect(last.updateValue(number, forKey: letter.peer) ?? -1 < number)
      }
      now = now + Micros(700)
      #expect(sent == taken + inbox.dropped + inbox.count)
      #expect(inbox.count <= Limits.inbox && inbox.bytes <= Limits.inboxBytes)
    }
    #expect(taken > 500 && inbox.dropped > 500)
    // What nobody looks at in time is not obeyed any more.
    now = now + Limits.patience + Micros(1)
    #expect(inbox.next(at: now) == nil && inbox.isEmpty && inbox.bytes == 0)
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
