// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import TactusOSC
import TactusTestSupport
import Testing

@testable import ControlSurface

@Suite("Floods")
struct FloodTests {
  private func host(_ number: Int, port: UInt16 = 1000) -> Peer {
    Peer(Endpoint(Address.v4(0x0a00_0000 + UInt32(number)), port: port))
  }

  private func port(_ number: Int) -> Peer { host(9, port: UInt16(1000 + number)) }

  /// Datagrams that the machine would get at this moment, until the budget is used up.
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
  func `a new sender's ping waits for few cheap packets and no costly one`(
    standing: Standing, arePorts: Bool
  ) {
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
      // One packet of each equal sender goes first. Among ports of one host, a known port gets one turn for
      // every two of new ports.
      let most = arePorts && standing == .guest ? 150 : 100
      #expect(
        packet == ping ? before <= most : before == 0 && now - start <= Micros(4000), "\(before) before")
    }
  }

  /// The longest wait of a ping that is sent four times a second for four seconds, beside a flood of `flood`
  /// packets a second. nil: a ping was lost, or the flood did not fill the inbox.
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
  func `a flood from ever new ports or hosts hardly delays a controller`(
    flood: Int
  ) {
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
  func `a flood from browsers that only watch does not delay a controller`() {
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

  /// A machine that assigns its ports in turn comes back to the first.
  @Test(arguments: [16, 3000, 28_000, 60_000], [400, 4000])
  func `a ping on this machine waits at most 20 ms beside flooding ports`(
    ports: Int, flood: Int
  ) {
    let packets = [
      (ping, Cost.message), (dear, Cost.datagram), (dear, 300), (query, 220), (query, 450),
      (nonsense, Cost.message + Cost.suggestion), (nonsense, Cost.message + Cost.refusal),
    ]
    var dice = Dice(seed: 3)
    // Cheap packets from 3000 ports are left out: those ports ask for no more than the ping does, so the ping
    // has no advantage.
    for (packet, cost) in packets where ports != 3000 || cost > Cost.message + Cost.refusal {
      var inbox = Inbox()
      var asked: Micros?
      var again = Micros.zero
      var longest = Micros.zero
      var answers = 0
      for tick in 0..<40_000 {
        let now = Micros(Int64(tick) * 100)
        // The ping's port sends before the flood begins.
        for number in flood * max(0, tick - 1000) / 10_000..<flood * max(0, tick - 999) / 10_000 {
          // Some machines assign ports at random.
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
  func `local, named and proven senders are known, subscribers are guests`() {
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
  func `a source that was just answered is served first in a crowd`() {
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
  func `a full inbox of one host makes room for another host's ping`() {
    var inbox = Inbox()
    for number in 1...SurfaceLimits.inbox + 500 {
      inbox.put(ping, from: port(number), standing: .stranger, at: .zero)
    }
    #expect(inbox.count == SurfaceLimits.inbox && inbox.dropped == 500)
    inbox.put(ping, from: host(5), standing: .stranger, at: .zero)
    #expect(inbox.count == SurfaceLimits.inbox && inbox.dropped == 501)
    // The turn of the first host had begun already, so take two.
    let next = [inbox.next(at: .zero), inbox.next(at: .zero)].compactMap { $0?.peer }
    // The dropped datagram was not the first of the crowd.
    #expect(next == [port(1), host(5)])
  }

  @Test
  func `among strangers with one packet each the cheapest comes first`() {
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
  func `all floods together get less than a tenth of a core`() {
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
  func `a controller's burst is read in order and completely`() {
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
  func `the inbox keeps its limits and the order of each sender`() {
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
        // Datagrams of one source stay in order.
        let number = letter.datagram.withUnsafeBytes { $0.loadUnaligned(as: Int.self) }
        #expect(last.updateValue(number, forKey: letter.peer) ?? -1 < number)
      }
      now = now + Micros(1400)
      #expect(sent == taken + inbox.dropped + inbox.count)
      #expect(inbox.count <= SurfaceLimits.inbox && inbox.bytes <= SurfaceLimits.inboxBytes)
    }
    #expect(taken > 500 && inbox.dropped > 500)
    // Datagrams that have waited for too long are dropped.
    now = now + SurfaceLimits.patience + Micros(1)
    #expect(inbox.next(at: now) == nil && inbox.isEmpty && inbox.bytes == 0)
  }

  @Test
  func `sources beyond the memory share one error budget, and pings pass`() {
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
    // Five a second to each remembered source, and five to all others together; less than half a second
    // passed.
    #expect(crowded <= 6 * SurfaceLimits.sources)
    desk.forget()
    desk.send("/tactus/ping", from: Desk.local)
    #expect(desk.told("pong").count == 1)
  }
}
