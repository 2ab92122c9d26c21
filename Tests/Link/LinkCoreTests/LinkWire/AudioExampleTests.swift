// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import Testing

/// The examples of audio sockets' datagrams in facts: link-audio 2.1, byte for byte.
struct AudioExampleTests {
  static let node = WorkedMessageTests.node
  static let channel = NodeID(rawValue: 0x7723_394c_6d2e_5a74)  // w#9Lm.Zt
  static let echo = AudioEcho(rawValue: 1_750_000_000_123_456)
  static let announcement = bytes(
    """
    63686e6e6c737601 01 05 0000 4b377d7121785232 73657373 00000008 4b377d7121785232
    5f5f7069 0000000a 00000006 53747564696f
    61756361 00000015 00000001 00000005 6d6574726f 7723394c6d2e5a74 5f5f6874 00000008 0006379da05d4240
    """)
  static let byes = bytes(
    "63686e6e6c737601 02 05 0000 4b377d7121785232 61756362 0000000c 00000001 7723394c6d2e5a74")
  static let pong = bytes("63686e6e6c737601 03 05 0000 4b377d7121785232 5f5f6874 00000008 0006379da05d4240")
  static let request = bytes(
    "63686e6e6c737601 04 05 0000 4b377d7121785232 63686964 00000008 7723394c6d2e5a74")
  static let stop = bytes("63686e6e6c737601 05 00 0000 4b377d7121785232 63686964 00000008 7723394c6d2e5a74")
  static let audio = bytes(
    """
    63686e6e6c737601 06 00 0000 4b377d7121785232 7723394c6d2e5a74 4b377d7121785232 00000001
    0000000000000001 0004 0000000000baeb90 000000000007a120 01 0000bb80 01 0008 0000 4000 c000 7fff
    """)
  static let all = [announcement, byes, pong, request, stop, audio]
  static let sizes = [99, 40, 36, 36, 36, 82]

  @Test func `an announcement has the name, session and channels of a peer`() throws {
    #expect(Self.all.map(\.count) == Self.sizes)
    try decodingAudio(Self.announcement) { datagram in
      #expect(datagram.node == Self.node && datagram.timeToLive == 5)
      guard case .announcement(var announcement) = datagram.body else {
        Issue.record("not an announcement")
        return
      }
      #expect(announcement.session == Self.node && announcement.ping == Self.echo)
      #expect(String(decoding: announcement.peerName, as: UTF8.self) == "Studio")
      #expect(announcement.channels.count == 1)
      let channel = announcement.channels.next()
      #expect(channel?.channel == Self.channel)
      #expect(channel.map { String(decoding: $0.name, as: UTF8.self) } == "metro")
      let next = announcement.channels.next()
      #expect(next?.channel == nil)
    }
  }

  @Test func `a datagram of audio has a beat and a tempo of the session`() throws {
    try decodingAudio(Self.audio) { datagram in
      guard case .audio(let buffer) = datagram.body else {
        Issue.record("not audio")
        return
      }
      #expect(
        buffer.format
          == AudioFormat(channel: Self.channel, session: Self.node, sampleRate: 48_000, channelCount: 1))
      #expect(buffer.chunkCount == 1 && buffer.frameCount == 4 && datagram.timeToLive == 0)
      #expect(
        buffer.chunk(at: 0) == AudioBuffer.Chunk(number: 1, frames: 4, begin: Beats(12.25), tempo: Tempo(120))
      )
      #expect((0..<5).map { buffer.sample(at: $0) } == [0, 16_384, -16_384, 32_767, 0])
      #expect(buffer.samples.count == 8)
    }
  }

  @Test(arguments: zip(all.indices, all))
  func `each example datagram of Link Audio is written as it was read`(index: Int, example: [UInt8]) throws {
    #expect(try rewritten(example) == example)
  }
}

/// Decodes a datagram and encodes the result again.
func rewritten(_ bytes: [UInt8]) throws -> [UInt8] {
  try decodingAudio(bytes) { datagram in
    switch datagram.body {
    case .announcement(let announcement):
      var writer = AnnouncementWriter(
        from: datagram.node, in: announcement.session, named: announcement.peerName, ping: announcement.ping)
      for channel in announcement.channels {
        let fits = writer.add(channel.channel, named: channel.name)
        #expect(fits)
      }
      return writer.finish().array
    case .byes(let ids):
      return (0..<ids.count).map { ids[$0] }.withUnsafeBufferPointer {
        AudioPacket.byes($0, from: datagram.node).array
      }
    case .pong(let echo): return AudioPacket.pong(echo, from: datagram.node).array
    case .request(let channel):
      return AudioPacket.request(channel, from: datagram.node, ttl: datagram.timeToLive).array
    case .stop(let channel): return AudioPacket.stop(channel, from: datagram.node).array
    case .audio(let buffer): return rewritten(buffer, from: datagram.node)
    }
  }
}

/// Encodes a datagram in place, as a sender does: first the head, then the samples into the returned memory.
private func rewritten(_ buffer: AudioBuffer, from node: NodeID) -> [UInt8] {
  let chunks = (0..<buffer.chunkCount).map { buffer.chunk(at: $0) }
  var datagram = [UInt8](repeating: 0xee, count: 1200)
  let size = datagram.withUnsafeMutableBytes { memory -> Int in
    let samples = chunks.withUnsafeBufferPointer {
      encodeAudioBuffer(buffer.format, from: node, chunks: $0, into: memory)
    }
    guard let samples, let place = samples.baseAddress, let start = memory.baseAddress else { return 0 }
    samples.copyBytes(from: buffer.samples)
    return place - start + samples.count
  }
  return Array(datagram[..<size])
}
