// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkOracle
import LinkWire
import Testing

/// The entry with the song line, which is our own (facts: link 1.1).
struct SongEntryTests {
  private static let song = SessionSong(
    line: SongLine(sessionBeat: Beats(-3.5), songBeat: Beats(64), beatsPerBar: 7, beatType: 8),
    timestamp: Micros(0x0102_0304_0506_0708))
  private static let value =
    bytes(of: 0x0102_0304_0506_0708) + bytes(of: -3_500_000) + bytes(of: 64_000_000) + [7, 8]
  private static let plain = WorkedMessageTests.alive

  private func state(_ message: [UInt8]) throws -> PeerState {
    guard case .alive(let state, ttl: 5) = try decodeDiscovery(message) else {
      throw DecodingFailure.unknownType
    }
    return state
  }

  @Test func `a song line follows the entries of Link and survives a round trip`() throws {
    var state = try state(Self.plain)
    #expect(state.song == nil)
    state.song = Self.song
    let message = encodeAlive(state).array
    #expect(message == Self.plain + entry("tsng", Self.value))
    #expect(try decodeDiscovery(message) == .alive(state, ttl: 5))
  }

  @Test func `a song entry of another size is skipped, but not the other entries`() throws {
    for size in 0...60 where size != 26 {
      let other = entry("tsng", Array((Self.value + Self.value + Self.value).prefix(size)))
      #expect(try state(Self.plain[..<20] + other + Self.plain[20...]) == state(Self.plain))
    }
  }

  @Test func `a message that is cut within the song entry is refused`() throws {
    let message = Self.plain + entry("tsng", Self.value)
    for end in Self.plain.count + 1..<message.count {
      #expect(throws: DecodingFailure.brokenPayload) { try state(Array(message[..<end])) }
    }
  }

  @Test(arguments: [0, 0xff, 0x7f, 0x80] as [UInt8])
  func `any 26 bytes are a song line that is written back as it was read`(byte: UInt8) throws {
    let message = Self.plain + entry("tsng", [UInt8](repeating: byte, count: 26))
    #expect(try encodeAlive(state(message)).array.suffix(34) == message.suffix(34))
  }

  @Test func `of two song entries in one message the last counts`() throws {
    let first = entry("tsng", [UInt8](repeating: 1, count: 26))
    #expect(try state(Self.plain + first + entry("tsng", Self.value)).song == Self.song)
  }

  /// Runs the parser of Debian's Link 3.0.6, with the song entry at each place among the other entries.
  @Test func `Ableton's library skips the song entry`() throws {
    let entries = [20..<52, 52..<68, 68..<93, 93..<107].map { Array(Self.plain[$0]) }
    let expected = try #require(parsed(Array(Self.plain[20...])))
    #expect(expected.timeline.beatOrigin == 17_250_000 && expected.isPlaying && expected.port == 54321)
    for place in 0...entries.count {
      for value in [Self.value, [UInt8](repeating: 0xff, count: 26), []] {
        var message = entries
        message.insert(entry("tsng", value), at: place)
        let peer = try #require(parsed(Array(message.joined())))
        #expect(peer.timeline.bpm == expected.timeline.bpm)
        #expect(peer.timeline.beatOrigin == expected.timeline.beatOrigin)
        #expect(peer.timeline.timeOrigin == expected.timeline.timeOrigin)
        #expect(peer.isPlaying == expected.isPlaying && peer.startBeats == expected.startBeats)
        #expect(peer.startTime == expected.startTime && peer.session == expected.session)
        #expect(peer.address == expected.address && peer.port == expected.port)
      }
    }
  }

  private func parsed(_ payload: [UInt8]) -> OraclePeer? {
    var peer = OraclePeer()
    return oracle_peer(payload, payload.count, &peer) ? peer : nil
  }
}
