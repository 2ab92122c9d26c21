// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import Testing

/// The rules of payloads by their numbers (facts: link 1), and of headers (facts: link 2, 4.1).
struct PayloadRuleTests {
  static let header = Array(WorkedMessageTests.alive[..<20])
  static let node = WorkedMessageTests.node
  static let timeline = entry("tmln", bytes(of: 500_000) + bytes(of: -7) + bytes(of: 9))

  func state(_ payload: [UInt8]) throws -> PeerState {
    guard case .alive(let state, ttl: 5) = try decodeDiscovery(Self.header + payload) else {
      throw DecodingFailure.unknownType
    }
    return state
  }

  @Test(arguments: 1...7)
  func `by payload rule 1 a rest of 1 to 7 bytes makes the message invalid`(count: Int) {
    #expect(throws: DecodingFailure.brokenPayload) {
      try state(Self.timeline + [UInt8](repeating: 0x41, count: count))
    }
  }

  @Test(arguments: [1, 8, 0x7fff_ffff, 0xffff_ffff] as [UInt32])
  func `by payload rule 2 an entry longer than the rest is an error`(excess: UInt32) {
    let size = (0..<4).map { UInt8(truncatingIfNeeded: excess >> (24 - 8 * $0)) }
    #expect(throws: DecodingFailure.brokenPayload) { try state(Self.timeline + Array("what".utf8) + size) }
    #expect(throws: DecodingFailure.brokenPayload) { try state(Array("sess".utf8) + size) }
  }

  @Test(arguments: ["what", "__pi", "auca", "aucb", "chid", "__ht", "__gt", "_pgt", "TMLN"])
  func `by payload rule 3 an unknown entry is skipped`(key: String) throws {
    for size in [0, 1, 3, 100] {
      let unknown = entry(key, [UInt8](repeating: 0xff, count: size))
      #expect(try state(unknown + Self.timeline + unknown) == state(Self.timeline))
    }
  }

  /// Our clock entry is not part of the protocol: another program may use the same key.
  @Test func `the clock entry is read only if it has our size`() throws {
    let value = bytes(of: 0x0102_0304_0506_0708) + [5, 1, 2, 3, 4, 1]
    let expected = ClockOrigin(
      root: NodeID(rawValue: 0x0102_0304_0506_0708), steps: 5, jumps: 0x0102_0304, isInferred: true)
    #expect(try state(Self.timeline + entry("tclk", value)).clock == expected)
    #expect(try state(Self.timeline).clock == nil)
    for other in [[], Array(value.dropLast()), value + [0]] {
      #expect(try state(entry("tclk", other) + Self.timeline) == state(Self.timeline))
    }
  }

  @Test(arguments: ["tmln", "sess", "stst", "mep4", "mep6", "aep4", "aep6"], [-1, 1])
  func `by payload rule 4 a known entry of another size is an error`(key: String, excess: Int) throws {
    let sizes = ["tmln": 24, "sess": 8, "stst": 17, "mep4": 6, "mep6": 18, "aep4": 6, "aep6": 18]
    let value = [UInt8](repeating: 1, count: try #require(sizes[key]))
    #expect(throws: Never.self) { try state(entry(key, value)) }
    let other = excess < 0 ? Array(value.dropLast()) : value + [1]
    if key == "sess" && excess < 0 { return }  // rule 8 allows a short session id
    #expect(throws: DecodingFailure.wrongEntrySize) { try state(entry(key, other)) }
  }

  @Test func `by payload rule 5 the order is free; of equal keys the last counts`() throws {
    let session = entry("sess", Array("abcdefgh".utf8))
    #expect(try state(Self.timeline + session) == state(session + Self.timeline))
    let other = entry("sess", Array("ABCDEFGH".utf8))
    #expect(try state(other + Self.timeline + session) == state(Self.timeline + session))
    let v4 = entry("mep4", bytes("01020304 0506"))
    let v6 = entry("mep6", [UInt8](repeating: 0, count: 15) + [1, 5, 6])
    #expect(try state(v4 + v6).measurement == Endpoint(.v6(high: 0, low: 1, scope: 0), port: 0x506))
    #expect(try state(v6 + v4).measurement == Endpoint(.v4(0x0102_0304), port: 0x506))
  }

  @Test func `by payload rule 6 a missing entry leaves zeros`() throws {
    let empty = try state([])
    #expect(empty.session == NodeID(rawValue: 0))
    #expect(empty.timeline.tempo.beatsPerMinute == 0)
    #expect(empty.timeline.beatOrigin == .zero && empty.timeline.timeOrigin == .zero)
    #expect(empty.startStop == .unset)
    #expect(empty.measurement == nil)
  }

  @Test func `by payload rule 7 a broken payload leaves the header readable`() throws {
    let broken = Self.header + [1, 2, 3]
    #expect(throws: DecodingFailure.brokenPayload) { try decodeDiscovery(broken) }
    let header = try decodeDiscoveryHeader(broken)
    #expect(header.kind == .alive && header.node == Self.node && header.timeToLive == 5)
  }

  @Test(arguments: 0...7)
  func `by payload rule 8 a short session id is filled with zeros`(count: Int) throws {
    let value = [UInt8](repeating: 0x61, count: count)
    let expected = (value + [UInt8](repeating: 0, count: 8 - count)).reduce(UInt64(0)) {
      $0 << 8 | UInt64($1)
    }
    #expect(try state(entry("sess", value)).session.rawValue == expected)
  }

  @Test(arguments: [0, -1, Int64.min])
  func `a tempo whose beats take no time is refused`(microsPerBeat: Int64) {
    let timeline = entry("tmln", bytes(of: microsPerBeat) + bytes(of: 0) + bytes(of: 0))
    #expect(throws: DecodingFailure.impossibleTempo) { try state(timeline) }
  }

  @Test func `in a start/stop entry any byte but zero means playing`() throws {
    for byte in [1, 2, 0x80, 0xff] as [UInt8] {
      #expect(try state(entry("stst", [byte] + bytes(of: 3) + bytes(of: 4))).startStop.isPlaying)
    }
    #expect(try !state(entry("stst", [0] + bytes(of: 3) + bytes(of: 4))).startStop.isPlaying)
  }

  @Test func `the time to live is read from the message`() throws {
    var message = Self.header
    message[9] = 200
    guard case .alive(_, ttl: 200) = try decodeDiscovery(message) else {
      Issue.record("another time to live")
      return
    }
  }

  @Test func `the payload of a ByeBye is ignored`() throws {
    var message = Self.header + [9, 9, 9]
    message[8] = 3
    #expect(try decodeDiscovery(message) == .byeBye(Self.node))
  }

  @Test(arguments: [0, 4, 255] as [UInt8])
  func `a discovery message of an unknown type is refused`(type: UInt8) {
    var message = Self.header
    message[8] = type
    #expect(throws: DecodingFailure.unknownType) { try decodeDiscovery(message) }
  }

  @Test func `a discovery message of another session group is refused`() {
    for offset in [10, 11] {
      var message = Self.header
      message[offset] = 1
      #expect(throws: DecodingFailure.otherGroup) { try decodeDiscovery(message) }
    }
  }

  @Test func `a datagram that is too short or of another protocol is not Link's`() {
    for count in 0..<20 {
      #expect(throws: DecodingFailure.notLink) { try decodeDiscovery(Array(Self.header[..<count])) }
    }
    for offset in 0..<8 {
      var message = Self.header
      message[offset] ^= 1
      #expect(throws: DecodingFailure.notLink) { try decodeDiscovery(message) }
    }
  }

  @Test func `a datagram longer than the longest message is refused`() throws {
    let filler = entry("what", [UInt8](repeating: 0, count: 512 - 28))
    #expect(throws: Never.self) { try state(filler) }
    #expect(throws: DecodingFailure.tooLong) { try state(filler + [0]) }
  }
}
