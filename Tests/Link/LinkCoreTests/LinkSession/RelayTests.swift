// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import Testing

@testable import LinkSession

/// A relay under test, and the input from the relay of another room.
@Suite struct RelayTests {
  private static let far = Gateway(
    id: GatewayID(rawValue: 7), address: .v4(0x0a00_0701),
    measurement: Endpoint(.v4(0x0a00_0701), port: 50_000),
    far: FarWire(relay: Endpoint(.v4(0xc000_0201), port: 20_900)))

  private func relay() -> Bench {
    var bench = Bench(isEnabled: false)
    bench.machine = LinkSession(tempo: Tempo(120), seed: 1, isRelay: true, at: bench.now)
    bench.drain()
    bench.handle(.enable(true))
    bench.handle(.gatewayOpened(RelayTests.far))
    return bench
  }

  private func alive(_ session: UInt64, audio: Endpoint? = nil) -> Packet {
    encodeAlive(
      PeerState(
        node: NodeID(rawValue: 0x2030_3030_3030_3030), session: NodeID(rawValue: session),
        timeline: Timeline(tempo: Tempo(90), beatOrigin: .zero, timeOrigin: .zero), startStop: .unset,
        measurement: Endpoint(.v4(0xc0a8_0105), port: 4_000), audio: audio))
  }

  @Test func `a relay that moves to another address stays the same relay`() {
    var bench = relay()
    let session = bench.snapshot.session.rawValue
    for address in [0xc000_0201, 0xcb00_7105, 0x0808_0808] as [UInt32] {
      bench.receive(alive(session), from: Endpoint(.v4(address), port: 1_234), on: RelayTests.far)
    }
    #expect(bench.snapshot.peerCount == 1)
    #expect(bench.machine.counters.forged == 0)
    #expect(bench.machine.load.sightings == 1)
  }

  /// The other room could make us send pings and audio anywhere.
  @Test func `an endpoint of the other room is not remembered`() {
    var bench = relay()
    bench.receive(
      alive(5, audio: Endpoint(.v4(0xc0a8_0105), port: 4_001)), from: RelayTests.far.far!.relay,
      on: RelayTests.far)
    bench.wait(2_000_000)
    let places = bench.takeSent().compactMap { sent -> Endpoint? in
      if case .endpoint(let endpoint) = sent.destination { return endpoint }
      return nil
    }
    #expect(places.count > 20)
    #expect(places.allSatisfy { $0 == RelayTests.far.far!.relay })
    #expect(bench.audioPeers.isEmpty)
  }

  @Test func `impossible times from the relay of another room change nothing`() throws {
    var bench = relay()
    let session = bench.snapshot.session
    bench.receive(alive(session.rawValue), from: RelayTests.far.far!.relay, on: RelayTests.far)
    let before = bench.snapshot.ghost
    let times: [Int64] = [.min, .min + 1, -1, 0, 1, 100_000_000_000_001, .max - 1, .max]
    for turn in 0..<400 {
      bench.wait(50_000)
      if turn % 10 == 0 {
        bench.receive(alive(session.rawValue), from: RelayTests.far.far!.relay, on: RelayTests.far)
      }
      for sent in bench.takeSent() where sent.channel == .measurement {
        guard case .ping(let echo) = try sent.packet.withUnsafeBytes({ try decodeMeasurement($0) }) else {
          continue
        }
        let pong = encodePong(
          session: session, ghost: Micros(times[turn % 8]), relay: Micros(times[turn / 8 % 8]), echoing: echo)
        bench.receive(pong, from: RelayTests.far.far!.relay, on: RelayTests.far, via: .measurement)
        bench.receive(pong, from: RelayTests.far.far!.relay, on: RelayTests.far, via: .measurement)
      }
    }
    #expect(abs((bench.snapshot.ghost.intercept - before.intercept).count) < 60_000)
    #expect(bench.machine.counters.strayPongs > 400)
    #expect(bench.machine.counters.outputsDropped == 0)
  }

  @Test func `a relay draws an id below those of other peers after each reset`() {
    var bench = relay()
    for _ in 0..<5 {
      #expect(bench.snapshot.node.rawValue >> 56 == 0x20)
      bench.handle(.enable(false))
      bench.handle(.enable(true))
    }
  }
}
