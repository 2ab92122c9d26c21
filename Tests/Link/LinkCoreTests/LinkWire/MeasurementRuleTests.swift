// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import Testing

/// The rules of pings and pongs in facts: link 4.1, 4.2, 4.3.
struct MeasurementRuleTests {
  static let ping = Array(WorkedMessageTests.ping1[..<9])
  static let pong = Array(WorkedMessageTests.pong1[..<9])

  @Test(arguments: [0, 1, 7, 16, 31, 32])
  func `a ping of up to 32 bytes is echoed verbatim even if malformed`(count: Int) throws {
    let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 1) }
    guard case .ping(let echo) = try decodeMeasurement(Self.ping + payload) else {
      Issue.record("not a ping")
      return
    }
    let answer = encodePong(session: NodeID(rawValue: 7), ghost: Micros(-3), echoing: echo).array
    #expect(Array(answer[(9 + 32)...]) == payload)
  }

  @Test func `a ping with more than 32 bytes to echo is refused`() {
    for count in [33, 48, 400] {
      #expect(throws: DecodingFailure.pingTooLong) {
        try decodeMeasurement(Self.ping + [UInt8](repeating: 0, count: count))
      }
    }
  }

  func readPong(_ payload: [UInt8]) throws -> Pong {
    guard case .pong(let pong) = try decodeMeasurement(Self.pong + payload) else {
      throw DecodingFailure.unknownType
    }
    return pong
  }

  @Test func `a pong's entries come in any order and may be missing`() throws {
    let session = entry("sess", Array("abcdefgh".utf8))
    let times = entry("_pgt", bytes(of: 1)) + entry("what", [1]) + entry("__ht", bytes(of: -2))
    let pong = try readPong(times + entry("__gt", bytes(of: 3)) + session)
    #expect(pong.session.rawValue == 0x6162_6364_6566_6768)
    #expect(pong.previousGhost == Micros(1) && pong.host == Micros(-2) && pong.ghost == Micros(3))
    let empty = Pong(session: NodeID(rawValue: 0), ghost: .zero, host: .zero, previousGhost: .zero)
    #expect(try readPong([]) == empty)
  }

  @Test func `a relay sends another relay its host time, which other peers ignore`() throws {
    guard case .ping(let echo) = try decodeMeasurement(Self.ping + entry("__ht", bytes(of: 5))) else {
      Issue.record("not a ping")
      return
    }
    let answer = encodePong(session: NodeID(rawValue: 7), ghost: Micros(-3), relay: Micros(-9), echoing: echo)
    let told = Pong(
      session: NodeID(rawValue: 7), ghost: Micros(-3), host: Micros(5), previousGhost: .zero,
      relay: Micros(-9))
    #expect(try readPong(Array(answer.array[9...])) == told)
    #expect(try readPong(entry("trht", [1, 2, 3])).relay == .zero)
  }

  @Test func `a malformed pong is refused`() {
    #expect(throws: DecodingFailure.brokenPayload) { try readPong([1, 2, 3]) }
    for key in ["__gt", "__ht", "_pgt"] {
      for size in [0, 7, 9] {
        #expect(throws: DecodingFailure.wrongEntrySize) {
          try readPong(entry(key, [UInt8](repeating: 0, count: size)))
        }
      }
    }
    #expect(throws: DecodingFailure.wrongEntrySize) {
      try readPong(entry("sess", [UInt8](repeating: 0, count: 9)))
    }
  }

  @Test func `measurement messages of another type or protocol are refused`() {
    #expect(throws: DecodingFailure.unknownType) { try decodeMeasurement(Array(Self.ping[..<8]) + [0]) }
    #expect(throws: DecodingFailure.unknownType) { try decodeMeasurement(Array(Self.ping[..<8]) + [3]) }
    for count in 0..<9 {
      #expect(throws: DecodingFailure.notLink) { try decodeMeasurement(Array(Self.ping[..<count])) }
    }
    #expect(throws: DecodingFailure.notLink) { try decodeMeasurement(WorkedMessageTests.alive) }
    #expect(throws: DecodingFailure.tooLong) {
      try decodeMeasurement(Self.pong + entry("what", [UInt8](repeating: 0, count: 500)))
    }
  }
}
