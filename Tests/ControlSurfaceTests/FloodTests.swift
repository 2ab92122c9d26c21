// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import OSC
import TestSupport
import Testing

@testable import ControlSurface

@Suite("Floods")
struct FloodTests {
  private func host(_ number: Int, port: UInt16 = 1000) -> Peer {
    Peer(Endpoint(Address.v4(0x0a00_0000 + UInt32(number)), port: port))
  }

  private func port(_ number: Int) -> Peer { host(9, port: UInt16(1000 + number)) }

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

  @Test(arguments: [Standing.stranger, .guest], [false, true])
  func
    `a ping waits for one packet of each of the others, hosts or ports, however many they sent, and for no dear one`(
      standing: Standing, arePorts: Bool
    )
  {
    for packet in [ping, dear] {
      var inbox = Inbox()
      var now = Micros.zero
      let source = arePorts ? port : { host($0) }
      for round in 0..<50 {
        for number in 0..<100 { inbox.put(packet, from: source(number), standing: standing, at: now) }
        now = now + Micros(100)
        if round == 3 {
          let cost = packet == ping ? Cost.message : Cost.datagram
          #expect(!served(&inbox, at: now, cost: cost).isEmpty)
        }
      }
      #expect(inbox.count == SurfaceLimits.inbox)
      inbox.put(ping + [0, 0, 0, 0], from: source(200), standing: standing, at: now)
      let start = now
      var before = 0
      while true {
        now = max(now, inbox.deadline ?? .zero)
        guard let letter = inbox.next(at: now), letter.datagram != ping + [0, 0, 0, 0] else { break }
        inbox.charge(Cost.message, for: letter, at: now)
        before += 1
      }
      // Of equals, one from each; and for two that are new one of those that were heard before.
      let most = arePorts && standing == .guest ? 150 : 100
      #expect(
        packet == ping ? before <= most : before == 0 && now - start <= Micros(4000), "\(before) before")
    }
  }

  /// How long a ping waited at most, four times a second for four seconds beside so many packets a second; nil: one was lost.
  private func longest(
    beside flood: Int, of packet: [UInt8], costing cost: Int, from source: (Int) -> Peer,
    standing: Standing, of theirs: Standing = .stranger
  ) -> Micros? {
    var inbox = Inbox()
    var waiting: [Micros] = []
    var longest = Micros.zero
    for millisecond in 0..<4000 {
      let now = Micros(Int64(millisecond) * 1000)
      for number in flood * millisecond / 1000..<flood * (millisecond + 1) / 1000 {
        inbox.put(packet, from: source(number), standing: theirs, at: now)
      }
      if millisecond % 250 == 0 {
        inbox.put(ping, from: host(5), standing: standing, at: now)
        waiting.append(now)
      }
      while let letter = inbox.next(at: now) {
        inbox.charge(cost, for: letter, at: now)
        if letter.peer == host(5) { longest = max(longest, now - waiting.removeFirst()) }
      }
    }
    return waiting.isEmpty && inbox.dropped > 0 ? longest : nil
  }

  @Test(arguments: [600, 4000])
  func
    `a controller is heard at once beside ever new ports of a stranger, and one that is being told beside ever new strangers, too`(
      flood: Int
    )
  {
    for (packet, cost) in [(nonsense, Cost.message + Cost.suggestion), (dear, Cost.datagram)] {
      let besidePorts = longest(
        beside: flood, of: packet, costing: cost, from: { port($0 % 60_000) }, standing: .stranger)
      #expect(
        (besidePorts ?? .zero) <= Micros(60_000) && besidePorts != nil, "\(String(describing: besidePorts))")
      let besideHosts = longest(
        beside: flood, of: packet, costing: cost, from: { host(100 + $0) }, standing: .guest)
      #expect(besideHosts == .zero, "\(String(describing: besideHosts))")
    }
  }

  @Test
  func `a controller is heard at once beside browsers that may only watch, are told everything, and flood`() {
    let browsers = (0..<8).map {
      Peer(
        Browser(number: $0, isPaired: false), at: Endpoint(Address.v4(0x0a00_0100), port: UInt16(4000 + $0)))
    }
    for (packet, cost) in [(dear, Cost.datagram), (dear, 150), (ping, Cost.message)] {
      let found = longest(
        beside: 4000, of: packet, costing: cost, from: { browsers[$0 % 8] }, standing: .guest, of: .guest)
      #expect(found == .zero, "\(String(describing: found))")
    }
  }

  private let query = LibloCodec.encode(Message("/tactus/query", .string("*")))
  private let nonsense = LibloCodec.encode(Message("/tactus/nonsense"))

  /// The ports that a machine gives out in turn come again, too.
  @Test(arguments: [16, 3000, 28_000, 60_000], [400, 4000])
  func
    `on this machine a ping waits 20 ms at most, fifty times a second beside sixteen ports or ever new ones that flood`(
      ports: Int, flood: Int
    )
  {
    let packets = [
      (ping, Cost.message), (dear, Cost.datagram), (dear, 300), (query, 220), (query, 450),
      (nonsense, Cost.message + Cost.suggestion), (nonsense, Cost.message + Cost.refusal),
    ]
    var dice = Dice(seed: 3)
    // A thousand that come back and ask for no more than it does are as good as it.
    for (packet, cost) in packets where ports != 3000 || cost > Cost.message + Cost.refusal {
      var inbox = Inbox()
      var asked: Micros?
      var again = Micros.zero
      var longest = Micros.zero
      var answers = 0
      for tick in 0..<40_000 {
        let now = Micros(Int64(tick) * 100)
        // It spoke before they did.
        for number in flood * max(0, tick - 1000) / 10_000..<flood * max(0, tick - 999) / 10_000 {
          // Some machines give them out by chance.
          let chance = ports == 28_000 ? Int.random(in: 0..<ports, using: &dice) : number
          inbox.put(packet, from: port(1 + chance % ports), standing: .known, at: now)
        }
        if asked == nil, now >= again {
          asked = now
          inbox.put(ping, from: port(0), standing: .known, at: now)
        }
        while let letter = inbox.next(at: now) {
          inbox.charge(letter.peer == port(0) ? Cost.message : cost, for: letter, at: now)
          guard letter.peer == port(0), let sent = asked else { continue }
          longest = max(longest, now - sent)
          (asked, again) = (nil, now + Micros(20_000))
          answers += 1
        }
      }
      #expect(
        longest <= Micros(20_000) && answers > 60, "\(longest), \(answers) answers; \(packet.count) bytes")
    }
  }

  @Test
  func `this machine, who was named and who has shown that it hears are known; who is being told is a guest`()
  {
    var desk = Desk()
    #expect(desk.machine.standing(of: Desk.tablet) == .stranger)
    #expect(desk.machine.standing(of: Desk.local) == .known)
    desk.send("/tactus/subscribe", .int32(9000))
    let other = Peer(Endpoint(Desk.tablet.endpoint.address, port: 1))
    #expect(desk.machine.standing(of: other) == .guest)
    let proof = desk.told("proof").last ?? []
    desk.send(bytes: LibloCodec.encode(Message("/tactus/proof", arguments: proof)))
    #expect(desk.machine.standing(of: other) == .known)
    #expect(Desk(.paired).machine.standing(of: Desk.tablet) == .known)
  }

  @Test
  func `who has just been answered is heard beside a crowd of strangers, too`() {
    var inbox = Inbox()
    var now = Micros.zero
    for _ in 0..<100 {
      inbox.put(ping, from: host(5000), standing: .stranger, at: now)
      #expect(served(&inbox, at: now, cost: Cost.message) == [ping])
      now = now + Micros(10_000)
    }
    for source in 0..<3000 { inbox.put(dear, from: host(source), standing: .stranger, at: now) }
    #expect(inbox.count == SurfaceLimits.inbox)
    inbox.put(ping, from: host(5000), standing: .stranger, at: now)
    #expect(inbox.next(at: now)?.datagram == ping)
  }

  @Test
  func
    `where thousands of ports of one host say one short thing each, there is room for another host's ping, and it is next`()
  {
    var inbox = Inbox()
    for number in 1...SurfaceLimits.inbox + 500 {
      inbox.put(ping, from: port(number), standing: .stranger, at: .zero)
    }
    #expect(inbox.count == SurfaceLimits.inbox && inbox.dropped == 500)
    inbox.put(ping, from: host(5), standing: .stranger, at: .zero)
    #expect(inbox.count == SurfaceLimits.inbox && inbox.dropped == 501)
    // Beside the one that was in turn already.
    let next = [inbox.next(at: .zero), inbox.next(at: .zero)].compactMap { $0?.peer }
    // Whoever makes room is of the crowd: the first of it is there still.
    #expect(next == [port(1), host(5)])
  }

  @Test
  func `of strangers who say one thing each, whoever asks for little comes first`() {
    var inbox = Inbox()
    var now = Micros.zero
    for source in 0..<5000 {
      inbox.put(dear, from: host(source), standing: .stranger, at: now)
      now = now + Micros(250)
      _ = served(&inbox, at: now, cost: Cost.datagram)
    }
    #expect(inbox.count == SurfaceLimits.inbox)
    inbox.put(ping, from: host(9000), standing: .stranger, at: now)
    #expect((inbox.deadline ?? .zero) - now <= Micros(4000))
    #expect(inbox.next(at: inbox.deadline ?? .zero)?.datagram == ping)
  }

  @Test
  func `whatever floods for how long, all of it together is given less than a tenth of a core`() {
    for (packet, cost) in [(ping, Cost.message), (dear, Cost.datagram), (dear, 1)] {
      var inbox = Inbox()
      var spent = 0
      for millisecond in 0..<20_000 {
        let now = Micros(Int64(millisecond) * 1000)
        for source in 0..<4 {
          inbox.put(packet, from: host(source), standing: source < 2 ? .stranger : .known, at: now)
        }
        spent +=
          served(&inbox, at: now, cost: cost).count * (cost + Cost.letter)
      }
      #expect((1_100_000...1_250_000).contains(spent), "\(spent) of 20 s")
    }
  }

  @Test
  func `a single controller's burst is read in its order, and nothing of it is lost`() {
    var inbox = Inbox()
    for value in 0..<1500 {
      inbox.put([UInt8(value & 255), UInt8(value >> 8)], from: host(1), standing: .known, at: .zero)
    }
    for value in 0..<1500 {
      let letter = inbox.next(at: inbox.deadline ?? .zero)
      if let letter { inbox.charge(Cost.message, for: letter, at: inbox.deadline ?? .zero) }
      #expect(letter?.datagram == [UInt8(value & 255), UInt8(value >> 8)])
    }
    #expect(inbox.isEmpty && inbox.dropped == 0)
  }

  @Test
  func `it holds what it may and no more, whoever sends what and when`() {
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
          from: host(mutator.roll(30), port: UInt16(mutator.roll(300))), standing: .known, at: now)
        sent += 1
      } else if let letter = inbox.next(at: now) {
        taken += 1
        inbox.charge(mutator.roll(900), for: letter, at: now)
        // Of one source each comes before the next.
        let number = letter.datagram.withUnsafeBytes { $0.loadUnaligned(as: Int.self) }
        #expect(last.updateValue(number, forKey: letter.peer) ?? -1 < number)
      }
      now = now + Micros(1400)
      #expect(sent == taken + inbox.dropped + inbox.count)
      #expect(inbox.count <= SurfaceLimits.inbox && inbox.bytes <= SurfaceLimits.inboxBytes)
    }
    #expect(taken > 500 && inbox.dropped > 500)
    // What nobody looks at in time is not obeyed any more.
    now = now + SurfaceLimits.patience + Micros(1)
    #expect(inbox.next(at: now) == nil && inbox.isEmpty && inbox.bytes == 0)
  }

  @Test
  func
    `from more sources than can be remembered come no more errors than from one, and a ping is still answered`()
  {
    var desk = Desk()
    for round in 0..<4 {
      for source in 0..<SurfaceLimits.sources + 500 {
        if source % 100 == 0 { desk.now = desk.now + Micros(1000) }
        desk.send("/tactus/tempo", .string("banana"), from: host(source))
      }
      if round == 0 { desk.forget() }
    }
    #expect(desk.machine.rates.count <= SurfaceLimits.sources)
    let crowded = desk.errors.count
    // Five a second from each that is remembered, and five from all others together; less than half a second passed.
    #expect(crowded <= 6 * SurfaceLimits.sources)
    desk.forget()
    desk.send("/tactus/ping", from: Desk.local)
    #expect(desk.told("pong").count == 1)
  }
}
