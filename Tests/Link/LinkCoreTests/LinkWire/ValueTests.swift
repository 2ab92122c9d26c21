// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import Testing

@testable import LinkWire

struct ValueTests {
  @Test func `node ids are ordered by their first bytes first`() {
    #expect(NodeID(rawValue: 0x0100_0000_0000_00ff) < NodeID(rawValue: 0x0200_0000_0000_0000))
    #expect(NodeID(rawValue: 0x7f00_0000_0000_0000) < NodeID(rawValue: 0x8000_0000_0000_0000))
  }

  @Test func `a node id is printed as Ableton's library prints it`() {
    #expect(NodeID(rawValue: 0x0100_0000_0000_00ff).description == "0x01000000000000ff")
  }

  @Test func `a new node id has only printable characters`() {
    var generator = MutationTests.Seeded(state: 1)
    var seen = Set<UInt8>()
    for _ in 0..<1_000 {
      let node = NodeID(using: &generator)
      for shift in 0..<8 { seen.insert(UInt8(truncatingIfNeeded: node.rawValue >> (8 * shift))) }
    }
    #expect(seen == Set(33...126))
  }

  @Test func `the id of a relay is printable and lower than all other ids`() {
    var generator = MutationTests.Seeded(state: 2)
    for _ in 0..<1_000 {
      let relay = NodeID(ofRelayUsing: &generator)
      #expect(relay.rawValue >> 56 == 0x20)
      #expect(relay < NodeID(using: &generator))
    }
  }

  @Test func `IPv4 addresses sort before IPv6, then by number, then by scope`() {
    let ordered: [Address] = [
      .v4(0x7f00_0001), .v4(0xc0a8_0001), .v4(0xffff_ffff), .v6(high: 0, low: 1, scope: 9),
      .v6(high: 0xfe80 << 48, low: 1, scope: 2), .v6(high: 0xfe80 << 48, low: 1, scope: 3),
      .v6(high: 0xfe80 << 48, low: 2, scope: 1),
    ]
    for (left, right) in zip(ordered, ordered.dropFirst()) { #expect(left < right && !(right < left)) }
  }

  @Test func `the multicast group matches the gateway's family and interface`() {
    #expect(Endpoint.discoveryGroup(for: .v4(1)) == Endpoint(.v4(0xe04c_4e4b), port: 20808))
    let gateway = Address.v6(high: 0xfe80 << 48, low: 5, scope: 4)
    let group = Address.v6(high: 0xff12 << 48, low: 0x8080, scope: 4)
    #expect(Endpoint.discoveryGroup(for: gateway) == Endpoint(group, port: 20808))
    #expect(gateway.isIPv6LinkLocal && !gateway.isLoopback)
    #expect(Address.v4(0x7f00_0001).isLoopback)
  }

  /// The longest state that we send: on an IPv6 gateway, with audio, a clock origin and a song line. A new
  /// entry needs more room: in debug builds `Packet` stops the program that writes beyond its end.
  @Test func `the longest state fits in a packet and is read as it was written`() throws {
    var state = WorkedMessageTests.state
    let v6 = Address.v6(high: 0xfe80 << 48, low: .max, scope: 0)
    state.measurement = Endpoint(v6, port: 54_321)
    #expect(encodeAlive(state).count == 119)
    state.audio = Endpoint(v6, port: 54_322)
    #expect(encodeAlive(state).count == 145)
    state.clock = ClockOrigin(root: NodeID(rawValue: .max), steps: 255, jumps: .max, isInferred: true)
    #expect(encodeAlive(state).count == 167)
    let line = SongLine(
      sessionBeat: Beats(16), songBeat: Beats(8), beatsPerBar: .max, beatType: .max)
    state.song = SessionSong(line: line, timestamp: Micros(.max))
    let packet = encodeAlive(state)
    #expect(packet.count == Packet.capacity && packet.count < Wire.maximumMessageSize)
    guard case .alive(let read, ttl: 5) = try packet.withUnsafeBytes({ try decodeDiscovery($0) }) else {
      Issue.record("not an Alive")
      return
    }
    #expect(read.measurement == state.measurement && read.clock == state.clock && read.audio == state.audio)
    #expect(read.song == state.song)
  }

  #if DEBUG
    @Test func `in debug builds a message longer than its packet stops the program`() async {
      await #expect(processExitsWith: .failure) {
        var packet = Packet(copying: UnsafeRawBufferPointer(start: nil, count: 0))
        for _ in 0...Packet.capacity { packet?.append(0 as UInt8) }
      }
    }
  #else
    /// In a release build the program goes on, because it may be on a stage.
    @Test func `in release builds a message longer than its packet is cut`() throws {
      var packet = try #require(Packet(copying: UnsafeRawBufferPointer(start: nil, count: 0)))
      for byte in 0...Packet.capacity { packet.append(UInt8(byte)) }
      #expect(packet.count == Packet.capacity)
      #expect(packet.withUnsafeBytes { $0.last } == UInt8(Packet.capacity - 1))
    }
  #endif

  /// Compiles only if nothing in it can allocate or lock: the compiler checks all that it calls.
  @_noLocks @_noAllocation
  func roundTrip(_ bytes: UnsafeRawBufferPointer, _ state: PeerState) throws(DecodingFailure) -> Int {
    switch try LinkWire.decodeMeasurement(bytes) {
    case .ping(let echo):
      return encodePong(session: state.session, ghost: Micros(1), echoing: echo).count
    case .pong(let pong):
      return encodePing(host: pong.host, previousGhost: pong.ghost).count &+ encodeAlive(state).count
    }
  }

  @Test func `encoding and decoding allocate nothing`() throws {
    let state = WorkedMessageTests.state
    #expect(try WorkedMessageTests.ping1.withUnsafeBytes { try roundTrip($0, state) } == 57)
    #expect(try WorkedMessageTests.pong2.withUnsafeBytes { try roundTrip($0, state) } == 41 + 107)
  }
}
