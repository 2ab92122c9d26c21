// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import Testing

/// The worked examples of datagrams in facts: link 2.2 and 4.1, byte for byte.
struct WorkedMessageTests {
  static let node = NodeID(rawValue: 0x4b37_7d71_2178_5232)  // K7}q!xR2
  static let state = PeerState(
    node: node, session: node,
    timeline: Timeline(tempo: Tempo(123.45), beatOrigin: Beats(17.25), timeOrigin: Micros(8_384_000)),
    startStop: SessionStartStop(isPlaying: true, beats: Beats(16), timestamp: Micros(7_900_000)),
    measurement: Endpoint(.v4(0xc0a8_0117), port: 54321))
  static let alive = bytes(
    """
    5f 61 73 64 70 5f 76 01 01 05 00 00 4b 37 7d 71
    21 78 52 32 74 6d 6c 6e 00 00 00 18 00 00 00 00
    00 07 6a 8b 00 00 00 00 01 07 36 d0 00 00 00 00
    00 7f ee 00 73 65 73 73 00 00 00 08 4b 37 7d 71
    21 78 52 32 73 74 73 74 00 00 00 11 01 00 00 00
    00 00 f4 24 00 00 00 00 00 00 78 8b 60 6d 65 70
    34 00 00 00 06 c0 a8 01 17 d4 31
    """)

  @Test func `an Alive is encoded as Link 3 encodes it`() {
    #expect(encodeAlive(Self.state).array == Self.alive)
    #expect(Self.alive.count == 107)
  }

  @Test func `an Alive is decoded to what its sender meant`() throws {
    var expected = Self.state
    expected.timeline.tempo = Tempo(microsPerBeat: 486_027)
    #expect(try decodeDiscovery(Self.alive) == .alive(expected, ttl: 5))
    #expect(abs(expected.timeline.tempo.beatsPerMinute - 123.449_931_793) < 1e-9)
  }

  @Test func `a Response differs from an Alive only in its type`() throws {
    var response = Self.alive
    response[8] = 2
    #expect(encodeResponse(Self.state).array == response)
    guard case .response(let state, ttl: 5) = try decodeDiscovery(response) else {
      Issue.record("not a response")
      return
    }
    #expect(state.node == Self.node)
  }

  @Test func `a ByeBye is a header alone`() throws {
    let byeBye = bytes("5f 61 73 64 70 5f 76 01 03 00 00 00 4b 37 7d 71 21 78 52 32")
    #expect(encodeByeBye(Self.node).array == byeBye)
    #expect(try decodeDiscovery(byeBye) == .byeBye(Self.node))
  }

  @Test func `an IPv6 gateway announces an IPv6 endpoint`() throws {
    var state = Self.state
    state.timeline.tempo = Tempo(microsPerBeat: 486_027)
    state.measurement = Endpoint(.v6(high: 0xfe80 << 48, low: 0x8080, scope: 7), port: 6780)
    let packet = encodeAlive(state).array
    #expect(packet.count == 119)
    #expect(packet[93...] == entry("mep6", bytes("fe800000000000000000000000008080 1a7c"))[...])
    state.measurement?.address = .v6(high: 0xfe80 << 48, low: 0x8080, scope: 0)
    #expect(try decodeDiscovery(packet) == .alive(state, ttl: 5))
  }

  @Test func `a Link audio endpoint comes after the measurement endpoint`() throws {
    var state = Self.state
    state.timeline.tempo = Tempo(microsPerBeat: 486_027)
    state.audio = Endpoint(.v4(0xc0a8_0117), port: 54_322)
    let v4 = Self.alive + entry("aep4", bytes("c0a80117 d432"))
    #expect(v4.count == 121 && encodeAlive(state).array == v4)
    #expect(try decodeDiscovery(v4) == .alive(state, ttl: 5))
    state.audio = Endpoint(.v6(high: 0xfe80 << 48, low: 0x8080, scope: 0), port: 6780)
    let v6 = Self.alive + entry("aep6", bytes("fe800000000000000000000000008080 1a7c"))
    #expect(encodeAlive(state).array == v6)
    #expect(try decodeDiscovery(v6) == .alive(state, ttl: 5))
  }

  @Test func `peers of Link 1 send no start and stop`() throws {
    let old = Self.alive[..<68] + Self.alive[93...]
    #expect(old.count == 82)
    guard case .alive(let state, _) = try decodeDiscovery(Array(old)) else {
      Issue.record("not an alive")
      return
    }
    #expect(state.startStop == .unset)
    #expect(state.measurement == Self.state.measurement)
  }

  static let ping1 = bytes("5f6c696e6b5f7601 01 5f5f6874 00000008 00000000499602d2")
  static let pong1 = bytes(
    """
    5f6c696e6b5f7601 02 73657373 00000008 4b377d7121785232
    5f5f6774 00000008 00000000000f1206 5f5f6874 00000008 00000000499602d2
    """)
  static let ping2 = bytes(
    "5f6c696e6b5f7601 01 5f5f6874 00000008 00000000499606ba 5f706774 00000008 00000000000f1206")
  static let pong2 = bytes(
    """
    5f6c696e6b5f7601 02 73657373 00000008 4b377d7121785232
    5f5f6774 00000008 00000000000f1652 5f5f6874 00000008 00000000499606ba
    5f706774 00000008 00000000000f1206
    """)

  @Test func `pings carry our time and later also the time of the peer`() {
    #expect(encodePing(host: Micros(1_234_567_890), previousGhost: nil).array == Self.ping1)
    #expect(encodePing(host: Micros(1_234_568_890), previousGhost: Micros(987_654)).array == Self.ping2)
  }

  @Test(arguments: [(ping1, pong1, Micros(987_654)), (ping2, pong2, Micros(988_754))])
  func `a pong repeats its ping`(ping: [UInt8], pong: [UInt8], ghost: Micros) throws {
    guard case .ping(let echo) = try decodeMeasurement(ping) else {
      Issue.record("not a ping")
      return
    }
    #expect(encodePong(session: Self.node, ghost: ghost, echoing: echo).array == pong)
  }

  @Test(arguments: [
    (pong1, Pong(session: node, ghost: Micros(987_654), host: Micros(1_234_567_890), previousGhost: .zero)),
    (
      pong2,
      Pong(
        session: node, ghost: Micros(988_754), host: Micros(1_234_568_890), previousGhost: Micros(987_654))
    ),
  ])
  func `every entry of a pong is read`(bytes: [UInt8], expected: Pong) throws {
    guard case .pong(let pong) = try decodeMeasurement(bytes) else {
      Issue.record("not a pong")
      return
    }
    #expect(pong == expected)
  }
}
