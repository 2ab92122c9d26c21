// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import Testing

/// Datagrams of Ableton's library must survive decoding and encoding to the byte.
struct CaptureTests {
  @Test func `every captured datagram has the same bytes after decode and encode`() throws {
    var counts = [Int: Int]()
    for datagram in Capture.datagrams {
      counts[datagram.count, default: 0] += 1
      #expect(try Self.rewritten(datagram) == datagram)
    }
    #expect(Capture.datagrams.count == 360)
    #expect(Set(counts.keys) == [20, 25, 41, 57, 73, 107])
  }

  static func rewritten(_ datagram: [UInt8]) throws -> [UInt8] {
    if datagram[1] == UInt8(ascii: "a") { return encode(try decodeDiscovery(datagram)).array }
    switch try decodeMeasurement(datagram) {
    case .ping(let echo):
      // After its nine bytes of header, a ping has only the bytes that a pong echoes. Its host time must
      // match our encoder's.
      let host = (8..<16).reduce(Int64(0)) { $0 << 8 | Int64(echo.byte(at: $1)) }
      let ghost = (24..<32).reduce(Int64(0)) { $0 << 8 | Int64(echo.byte(at: $1)) }
      return encodePing(host: Micros(host), previousGhost: echo.count == 32 ? Micros(ghost) : nil).array
    case .pong(let pong):
      let ping = encodePing(
        host: pong.host, previousGhost: datagram.count == 73 ? pong.previousGhost : nil)
      guard case .ping(let echo) = try decodeMeasurement(ping.array) else { return [] }
      return encodePong(session: pong.session, ghost: pong.ghost, echoing: echo).array
    }
  }

  @Test func `the recorded packets contain the session of their description`() throws {
    var tempos = Set<Int64>()
    var nodes = Set<NodeID>()
    var sawPlaying = false
    var farewells = 0
    for datagram in Capture.datagrams where datagram[1] == UInt8(ascii: "a") {
      switch try decodeDiscovery(datagram) {
      case .alive(let state, let ttl), .response(let state, let ttl):
        tempos.insert(state.timeline.tempo.microsPerBeat)
        nodes.insert(state.node)
        sawPlaying = sawPlaying || state.startStop.isPlaying
        #expect(ttl == 5 && state.measurement != nil)
      case .byeBye:
        farewells += 1
      }
    }
    #expect(tempos.isSuperset(of: [600_000, 486_027]))  // 100 BPM at first, then 123.45
    #expect(nodes.count >= 2 && sawPlaying && farewells >= 1)
  }
}
