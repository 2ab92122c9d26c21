// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusOSC
import TactusTestSupport
import Testing

@testable import TactusSurface

@Suite("Floods")
struct FloodTests {
  private func host(_ number: Int, port: UInt16 = 1000) -> Peer {
    Peer(Endpoint(Address.v4(0x0a00_0000 + UInt32(number)), port: port))
  }

  private func port(_ number: Int) -> Peer { host(9, port: UInt16(1000 + number)) }

  /// The datagrams that the surface would handle at this time, until the budget is used up.
  private func served(_ inbox: inout Inbox, at now: Micros, cost: Int) -> [[UInt8]] {
    var found: [[UInt8]] = []
    while let letter = inbox.next(at: now) {
      inbox.charge(cost, for: letter, at: now)
      found.append(letter.datagram)
    }
    return found
  }

  private let ping = LibloCodec.encode(Message("/tactus/ping"))
  private let costlyPacket = LibloCodec.encode(Message("//*"))

  /// The longest wait of a ping that is sent four times a second for four seconds, during a flood of `flood`
  /// packets a second. nil: a ping was lost, or the flood did not fill the inbox.
  private func longest(
    beside flood: Int, of packet: [UInt8], costing cost: Int, from source: (Int) -> Peer,
    trust: Trust, of theirs: Trust = .stranger
  ) -> Micros? {
    var inbox = Inbox()
    var waiting: [Micros] = []
    var longest = Micros.zero
    for millisecond in 0..<4000 {
      let now = Micros(Int64(millisecond) * 1000)
      for number in flood * millisecond / 1000..<flood * (millisecond + 1) / 1000 {
        inbox.put(packet, from: source(number), trust: theirs, at: now)
      }
      if millisecond % 250 == 0 {
        inbox.put(ping, from: host(5), trust: trust, at: now)
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
  func `a flood from new ports or hosts each time hardly delays a controller`(
    flood: Int
  ) {
    for (packet, cost) in [(nonsense, Cost.message + Cost.suggestion), (costlyPacket, Cost.datagram)] {
      let besidePorts = longest(
        beside: flood, of: packet, costing: cost, from: { port($0 % 60_000) }, trust: .stranger)
      #expect(
        (besidePorts ?? .zero) <= Micros(60_000) && besidePorts != nil, "\(String(describing: besidePorts))")
      for trust in [Trust.known, .trusted] {
        let besideHosts = longest(
          beside: flood, of: packet, costing: cost, from: { host(100 + $0) }, trust: trust)
        #expect(besideHosts == .zero, "\(String(describing: besideHosts))")
      }
    }
  }

  @Test
  func `a flood from browsers that only watch does not delay a controller`() {
    let browsers = (0..<8).map {
      Peer(
        Browser(number: $0, isPaired: false), at: Endpoint(Address.v4(0x0a00_0100), port: UInt16(4000 + $0)))
    }
    for (packet, cost) in [(costlyPacket, Cost.datagram), (costlyPacket, 150), (ping, Cost.message)] {
      let found = longest(
        beside: 4000, of: packet, costing: cost, from: { browsers[$0 % 8] }, trust: .known, of: .known)
      #expect(found == .zero, "\(String(describing: found))")
    }
  }

  private let query = LibloCodec.encode(Message("/tactus/query", .string("*")))
  private let nonsense = LibloCodec.encode(Message("/tactus/nonsense"))

  /// Floods come from as many ports as `ports` says. A machine that assigns its ports in order starts over
  /// after the last port.
  @Test(arguments: [16, 3000, 28_000, 60_000], [400, 4000])
  func `a ping from this machine waits at most 20 ms beside flooding ports`(
    ports: Int, flood: Int
  ) {
    let packets = [
      (ping, Cost.message), (costlyPacket, Cost.datagram), (costlyPacket, 300), (query, 220), (query, 450),
      (nonsense, Cost.message + Cost.suggestion), (nonsense, Cost.message + Cost.refusal),
    ]
    var dice = Dice(seed: 3)
    // Cheap packets from 3000 ports are left out. Each of these ports sends as little as the port of the
    // ping, so the ping does not go ahead of them.
    for (packet, cost) in packets where ports != 3000 || cost > Cost.message + Cost.refusal {
      var inbox = Inbox()
      var asked: Micros?
      var again = Micros.zero
      var longest = Micros.zero
      var answers = 0
      for tick in 0..<40_000 {
        let now = Micros(Int64(tick) * 100)
        // The flood begins 100 ms later, after the ping's port has sent its first ping.
        for number in flood * max(0, tick - 1000) / 10_000..<flood * max(0, tick - 999) / 10_000 {
          // With 28,000 ports, the flood comes from ports at random, as on some machines.
          let chance = ports == 28_000 ? Int.random(in: 0..<ports, using: &dice) : number
          inbox.put(packet, from: port(1 + chance % ports), trust: .trusted, at: now)
        }
        if asked == nil, now >= again {
          asked = now
          inbox.put(ping, from: port(0), trust: .trusted, at: now)
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
  func `local, named and proven OSC senders are trusted; subscribers are known`() {
    var desk = Desk()
    #expect(desk.machine.trust(in: Desk.tablet) == .stranger)
    #expect(desk.machine.trust(in: Desk.local) == .trusted)
    desk.send("/tactus/subscribe", .int32(9000))
    let other = Peer(Endpoint(Desk.tablet.endpoint.address, port: 1))
    #expect(desk.machine.trust(in: other) == .known)
    let proof = desk.valuesSent("proof").last ?? []
    desk.send(bytes: LibloCodec.encode(Message("/tactus/proof", arguments: proof)))
    #expect(desk.machine.trust(in: other) == .trusted)
    #expect(Desk(.paired).machine.trust(in: Desk.tablet) == .trusted)
  }

  @Test
  func `a sender that was just answered is served first in a flood`() {
    var inbox = Inbox()
    var now = Micros.zero
    for _ in 0..<100 {
      inbox.put(ping, from: host(5000), trust: .stranger, at: now)
      #expect(served(&inbox, at: now, cost: Cost.message) == [ping])
      now = now + Micros(10_000)
    }
    for source in 0..<3000 { inbox.put(costlyPacket, from: host(source), trust: .stranger, at: now) }
    #expect(inbox.count == SurfaceLimits.inbox)
    inbox.put(ping, from: host(5000), trust: .stranger, at: now)
    #expect(inbox.next(at: now)?.datagram == ping)
  }

  @Test
  func `an inbox full of one host's packets makes room for another host's ping`() {
    var inbox = Inbox()
    for number in 1...SurfaceLimits.inbox + 500 {
      inbox.put(ping, from: port(number), trust: .stranger, at: .zero)
    }
    #expect(inbox.count == SurfaceLimits.inbox && inbox.dropped == 500)
    inbox.put(ping, from: host(5), trust: .stranger, at: .zero)
    #expect(inbox.count == SurfaceLimits.inbox && inbox.dropped == 501)
    // It may be the first host's turn, so take two packets.
    let next = [inbox.next(at: .zero), inbox.next(at: .zero)].compactMap { $0?.peer }
    // The first host's oldest datagram is still there, so a later one was dropped.
    #expect(next == [port(1), host(5)])
  }

  @Test
  func `all floods of packets together get less than a tenth of a core`() {
    for (packet, cost) in [(ping, Cost.message), (costlyPacket, Cost.datagram), (costlyPacket, 1)] {
      var inbox = Inbox()
      var spent = 0
      for millisecond in 0..<20_000 {
        let now = Micros(Int64(millisecond) * 1000)
        for source in 0..<6 {
          let trust = Trust.allCases[source / 2]
          inbox.put(packet, from: host(source), trust: trust, at: now)
        }
        spent += served(&inbox, at: now, cost: cost).count * (cost + Cost.letter)
      }
      #expect((1_100_000...1_250_000).contains(spent), "\(spent) of 20 s")
    }
  }

  @Test
  func `a trusted sender's burst and strangers' packets both get their share`() {
    var inbox = Inbox()
    var now = Micros.zero
    var served: [Trust: Int] = [:]
    for round in 0..<10_000 {
      now = now + Micros(200)
      inbox.put(ping, from: host(round), trust: .stranger, at: now)
      for _ in 0..<5 { inbox.put(ping, from: host(5), trust: .trusted, at: now) }
      if let letter = inbox.next(at: now) {
        inbox.charge(Cost.message, for: letter, at: now)
        served[letter.trust, default: 0] += 1
      }
    }
    // In two seconds, each level of trust gets its share of the thread's time.
    #expect((1600...1700).contains(served[.trusted] ?? 0), "\(served)")
    #expect((920...980).contains(served[.stranger] ?? 0), "\(served)")
  }

  @Test
  func `the queue type returns its first and last element after any operations`() {
    var dice = Dice(seed: 5)
    var queue = FirstInFirstOut<Int>()
    var expected: [Int] = []
    for value in 0..<8000 {
      switch Int.random(in: 0..<4, using: &dice) {
      case 0: #expect(queue.popFirst() == (expected.isEmpty ? nil : expected.removeFirst()))
      case 1: #expect(queue.popLast() == expected.popLast())
      default:
        queue.append(value)
        expected.append(value)
      }
      #expect(queue.first == expected.first && queue.last == expected.last)
      #expect(queue.count == expected.count)
    }
  }

  @Test
  func `a controller's burst of 1500 packets is read in order and completely`() {
    var inbox = Inbox()
    for value in 0..<1500 {
      inbox.put([UInt8(value & 255), UInt8(value >> 8)], from: host(1), trust: .trusted, at: .zero)
    }
    for value in 0..<1500 {
      let letter = inbox.next(at: inbox.deadline ?? .zero)
      if let letter { inbox.charge(Cost.message, for: letter, at: inbox.deadline ?? .zero) }
      #expect(letter?.datagram == [UInt8(value & 255), UInt8(value >> 8)])
    }
    #expect(inbox.isEmpty && inbox.dropped == 0)
  }

  @Test
  func `the inbox keeps its size limits and the order of each sender's packets`() {
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
          from: host(mutator.roll(30), port: UInt16(mutator.roll(300))), trust: .trusted, at: now)
        sent += 1
      } else if let letter = inbox.next(at: now) {
        taken += 1
        inbox.charge(mutator.roll(900), for: letter, at: now)
        // The datagrams of each source are handled in order.
        let number = letter.datagram.withUnsafeBytes { $0.loadUnaligned(as: Int.self) }
        #expect(last.updateValue(number, forKey: letter.peer) ?? -1 < number)
      }
      now = now + Micros(1400)
      #expect(sent == taken + inbox.dropped + inbox.count)
      #expect(inbox.count <= SurfaceLimits.inbox && inbox.bytes <= SurfaceLimits.inboxBytes)
    }
    #expect(taken > 500 && inbox.dropped > 500)
    // A datagram that has waited for too long is dropped.
    now = now + SurfaceLimits.longestWait + Micros(1)
    #expect(inbox.next(at: now) == nil && inbox.isEmpty && inbox.bytes == 0)
  }

  @Test
  func `sources beyond the remembered ones share one limit for error messages`() {
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
    // Each remembered source has a limit of five errors and gets one in each of the three counted rounds. All
    // other sources together get five. Less than half a second passes, so hardly any limit recovers.
    #expect(crowded <= 3 * SurfaceLimits.sources + 5, "\(crowded)")
    desk.forget()
    desk.send("/tactus/ping", from: Desk.local)
    #expect(desk.valuesSent("pong").count == 1)
  }
}
