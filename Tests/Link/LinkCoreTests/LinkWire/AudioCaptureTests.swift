// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import Testing

/// Datagrams that Ableton's library sent on its audio sockets.
struct AudioCaptureTests {
  @Test func `every captured datagram of Link audio survives a round trip`() throws {
    var kinds = [UInt8: Set<Int>]()
    for datagram in Capture.audio.joined() {
      if datagram[0] == UInt8(ascii: "c") {
        kinds[datagram[8], default: []].insert(datagram.count)
        #expect(try rewritten(datagram) == datagram)
      } else {
        #expect(try CaptureTests.rewritten(datagram) == datagram)
      }
    }
    #expect(Capture.audio.map(\.count) == [1597, 3652, 327])
    #expect(kinds == [1: [89, 99, 100, 1195], 2: [512], 3: [36], 4: [36], 5: [36], 6: [574, 576, 600]])
  }

  @Test func `captured discovery datagrams have audio endpoints`() throws {
    var endpoints = Set<Endpoint>()
    for datagram in Capture.audio[0] where datagram.starts(with: "_asdp".utf8) {
      switch try decodeDiscovery(datagram) {
      case .alive(let state, _), .response(let state, _):
        if let audio = state.audio { endpoints.insert(audio) }
      case .byeBye: break
      }
    }
    #expect(endpoints.map(\.port).sorted() == [36_800, 41_256])
  }

  @Test func `sixty channels take two announcements, and only the first is a ping`() throws {
    var channels: [[String]] = []
    var pings: [Bool] = []
    for datagram in Capture.audio[2] where datagram[0] == UInt8(ascii: "c") && datagram[8] == 1 {
      try decodingAudio(datagram) { read in
        guard case .announcement(let announcement) = read.body, announcement.channels.count > 0 else {
          return
        }
        channels.append(announcement.channels.map { String(decoding: $0.name, as: UTF8.self) })
        pings.append(announcement.ping != nil)
      }
    }
    #expect(channels[0] + channels[1] == ["many"] + (1..<60).map { "many \($0)" })
    #expect(channels[0].count == 59 && channels[1].count == 1)
    #expect(Array(pings.prefix(2)) == [true, false])
  }

  @Test func `a tempo change begins another audio chunk in the same datagram`() throws {
    var chunks: [[AudioBuffer.Chunk]] = []
    for datagram in Capture.audio[1] where datagram.count == 600 {
      try decodingAudio(datagram) { read in
        guard case .audio(let buffer) = read.body else { return }
        chunks.append((0..<buffer.chunkCount).map { buffer.chunk(at: $0) })
      }
    }
    #expect(chunks.map { $0.map(\.frames) } == [[64, 61]])
    #expect(chunks[0][0].tempo != chunks[0][1].tempo)
    #expect(chunks[0][1].number == chunks[0][0].number + 1)
  }
}
