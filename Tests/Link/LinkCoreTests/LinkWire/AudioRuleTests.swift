// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import Testing

/// Datagrams that an audio socket refuses, and the reasons.
struct AudioRuleTests {
  static let node = AudioExampleTests.node
  static let session = entry("sess", bytes(of: 7))

  static func header(_ type: UInt8) -> [UInt8] {
    Array(AudioExampleTests.announcement[..<8]) + [type, 5, 0, 0] + bytes(of: 9)
  }
  static func text(_ utf8: [UInt8]) -> [UInt8] { bytes(of: Int64(utf8.count))[4...] + utf8 }
  static func list(_ count: Int, _ items: [UInt8]) -> [UInt8] { bytes(of: Int64(count))[4...] + items }

  static func refusal(_ datagram: [UInt8]) -> DecodingFailure? {
    do {
      try decodingAudio(datagram) { _ in }
      return nil
    } catch {
      return error as? DecodingFailure
    }
  }

  @Test func `bytes that are not a message of Link Audio are refused`() {
    #expect(Self.refusal([]) == .notLink)
    #expect(Self.refusal([UInt8](repeating: 0, count: 10)) == .notLink)
    #expect(Self.refusal([UInt8](repeating: 0, count: 1200)) == .notLink)
    for example in AudioExampleTests.all {
      for size in 0..<20 { #expect(Self.refusal(Array(example[..<size])) == .notLink) }
      var other = example
      other[7] = 2
      #expect(Self.refusal(other) == .notLink)
      other = example
      other[11] = 1
      #expect(Self.refusal(other) == .otherGroup)
      for type in [0, 7, 255] as [UInt8] {
        other = example
        other[8] = type
        #expect(Self.refusal(other) == .unknownType)
      }
    }
    #expect(Self.refusal(WorkedMessageTests.alive) == .notLink)
  }

  @Test func `a message of Link Audio longer than 1200 bytes is refused`() {
    let room = 1200 - 20 - 16 - 8
    let longest = Self.header(1) + Self.session + entry("what", [UInt8](repeating: 1, count: room))
    #expect(longest.count == 1200 && Self.refusal(longest) == nil)
    #expect(Self.refusal(longest + [0]) == .tooLong)
  }

  @Test func `messages of Link Audio without a required entry are refused`() {
    for type in 1...5 as ClosedRange<UInt8> { #expect(Self.refusal(Self.header(type)) == .missingEntry) }
    #expect(Self.refusal(Self.header(1) + entry("__pi", Self.text([65]))) == .missingEntry)
    // The session is enough for a peer without a name or channels.
    #expect(Self.refusal(Self.header(1) + Self.session) == nil)
  }

  @Test(arguments: ["chid", "__ht"], [0, 7, 9])
  func `an entry of Link Audio whose value has the wrong size is refused`(key: String, size: Int) {
    let type: UInt8 = key == "chid" ? 4 : 3
    #expect(
      Self.refusal(Self.header(type) + entry(key, [UInt8](repeating: 1, count: size))) == .wrongEntrySize)
  }

  @Test func `a list of channels is refused as a whole if one part is wrong`() {
    let item = Self.text(Array("x".utf8)) + bytes(of: 5)
    func refusal(_ value: [UInt8]) -> DecodingFailure? {
      Self.refusal(Self.header(1) + Self.session + entry("auca", value))
    }
    #expect(refusal(Self.list(2, item + item)) == nil)
    #expect(refusal(Self.list(0, [])) == nil)
    for size in 0..<4 { #expect(refusal([UInt8](repeating: 0, count: size)) == .brokenList) }
    for count in [0, 1, 3, 0xffff_ffff] { #expect(refusal(Self.list(count, item + item)) == .brokenList) }
    for size in 0..<item.count { #expect(refusal(Self.list(2, item + item[..<size])) == .brokenList) }
    #expect(refusal(Self.list(2, item + item + [0])) == .brokenList)
    // The length of this name would be negative, or reach into the next entry.
    #expect(refusal(Self.list(1, bytes("ffffffff") + item)) == .brokenList)
    #expect(refusal(Self.list(1, bytes("00000006") + [1] + bytes(of: 5))) == .brokenList)
  }

  @Test func `a goodbye of channels is refused as a whole if one part is wrong`() {
    func refusal(_ value: [UInt8]) -> DecodingFailure? { Self.refusal(Self.header(2) + entry("aucb", value)) }
    let ids = bytes(of: 1) + bytes(of: 2)
    #expect(refusal(Self.list(2, ids)) == nil)
    for count in [0, 1, 3, 0x2000_0000, 0xffff_ffff] {
      #expect(refusal(Self.list(count, ids)) == .brokenList)
    }
    #expect(refusal(Self.list(2, ids + [0])) == .brokenList)
    for size in 0..<4 { #expect(refusal([UInt8](repeating: 0, count: size)) == .brokenList) }
    let full = [UInt8](repeating: 3, count: 8 * Wire.maximumByes)
    #expect(refusal(Self.list(Wire.maximumByes, full)) == nil)
    #expect(Self.header(2).count + entry("aucb", Self.list(Wire.maximumByes, full)).count == 1200)
  }

  @Test func `a peer or channel name that does not fit its entry is refused`() {
    func refusal(_ name: [UInt8]) -> DecodingFailure? {
      let asPeer = Self.refusal(Self.header(1) + Self.session + entry("__pi", Self.text(name)))
      let asChannel = Self.refusal(
        Self.header(1) + Self.session + entry("auca", Self.list(1, Self.text(name) + bytes(of: 5))))
      #expect(asPeer == asChannel)
      return asPeer
    }
    #expect(refusal(Array("Bühne 🎹".utf8)) == nil)
    #expect(refusal([UInt8](repeating: 65, count: 256)) == nil)
    #expect(refusal([UInt8](repeating: 65, count: 300)) == nil)
    for size in [0, 3, 5] {
      let value = Array(Self.text([65, 66])[..<size])
      #expect(Self.refusal(Self.header(1) + Self.session + entry("__pi", value)) == .brokenList)
    }
    #expect(Self.refusal(Self.header(1) + Self.session + entry("__pi", Self.text([65]) + [0])) == .brokenList)
  }

  /// A name cut within a character, in another encoding, or of random bytes is returned as it came, and so
  /// are the names beside it.
  @Test(
    arguments: [[0x42, 0xe4, 0x73], [0xe2, 0x82], [0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80]] as [[UInt8]])
  func `a peer or channel name that is not UTF-8 hides no other entry`(name: [UInt8]) throws {
    let names = [Array("Good1".utf8), name, Array("Good2".utf8)]
    var items: [UInt8] = []
    for (id, name) in names.enumerated() { items += Self.text(name) + bytes(of: Int64(id)) }
    let datagram =
      Self.header(1) + Self.session + entry("__pi", Self.text(name)) + entry("auca", Self.list(3, items))
    try decodingAudio(datagram) { read in
      guard case .announcement(let announcement) = read.body else {
        Issue.record("not an announcement")
        return
      }
      #expect(Array(announcement.peerName) == name)
      #expect(announcement.channels.map { Array($0.name) } == names)
      #expect(announcement.channels.map(\.channel.rawValue) == [0, 1, 2])
    }
  }

  /// Betas of Ableton's library send such names (facts: link-audio 2): the name is cut, and the names beside
  /// it stay whole.
  @Test func `a peer or channel name that is too long hides no other entry`() throws {
    let long = Array(("ab" + String(repeating: "가", count: 100)).utf8)
    for (name, size) in [
      (long, 254), ([UInt8](repeating: 65, count: 257), 256), ([UInt8](repeating: 0x80, count: 400), 252),
    ] {
      let names = [Array("Good1".utf8), name, Array("Good2".utf8)]
      var items: [UInt8] = []
      for (id, name) in names.enumerated() { items += Self.text(name) + bytes(of: Int64(id)) }
      let datagram =
        Self.header(1) + Self.session + entry("__pi", Self.text(name)) + entry("auca", Self.list(3, items))
      try decodingAudio(datagram) { read in
        guard case .announcement(let announcement) = read.body else {
          Issue.record("not an announcement")
          return
        }
        #expect(Array(announcement.peerName) == Array(name[..<size]))
        #expect(announcement.channels.map { Array($0.name) } == [names[0], Array(name[..<size]), names[2]])
        #expect(announcement.channels.map(\.channel.rawValue) == [0, 1, 2])
      }
    }
  }

  @Test func `a peer or channel name that is too long is cut between characters`() {
    for (text, size) in [
      (String(repeating: "a", count: 300), 256), ("a" + String(repeating: "é", count: 200), 255),
      (String(repeating: "🎹", count: 65), 256), ("aa" + String(repeating: "🎹", count: 65), 254), ("", 0),
      ("kick", 4),
    ] {
      var text = text
      let cut = text.withUTF8 { Wire.nameSize(UnsafeRawBufferPointer($0)) }
      #expect(cut == size)
      #expect(String(validating: text.utf8.prefix(cut), as: UTF8.self) != nil)
    }
  }

  // MARK: Audio

  static func audio(
    chunks: [(frames: Int, tempo: Int64)], codec: UInt8 = 1, rate: Int64 = 48_000, channels: UInt8 = 1,
    said: Int? = nil,
    sent: Int? = nil, count: Int? = nil
  ) -> [UInt8] {
    let size = chunks.reduce(0) { $0 + $1.frames } * Int(channels) * 2
    var datagram = header(6) + bytes(of: 1) + bytes(of: 2) + bytes(of: Int64(count ?? chunks.count))[4...]
    for chunk in chunks {
      datagram += bytes(of: 1) + bytes(of: Int64(chunk.frames))[6...] + bytes(of: -5) + bytes(of: chunk.tempo)
    }
    datagram += [codec] + bytes(of: rate)[4...] + [channels] + bytes(of: Int64(said ?? size))[6...]
    return datagram + [UInt8](repeating: 1, count: sent ?? size)
  }

  @Test func `audio is accepted with all sizes and rates that peers send`() {
    #expect(Self.refusal(Self.audio(chunks: [(251, 500_000)])) == nil)
    #expect(
      Self.refusal(Self.audio(chunks: [(64, 500_000), (61, 450_000)], rate: 44_100, channels: 2)) == nil)
    #expect(Self.refusal(Self.audio(chunks: [(512, 500_000)])) == nil)
    // A datagram has room for at most 1126 bytes of samples.
    #expect(Self.refusal(Self.audio(chunks: [(281, 500_000)], channels: 2)) == nil)
    for rate in [8_000, 32_000, 384_000] as [Int64] {
      #expect(Self.refusal(Self.audio(chunks: [(1, 1)], rate: rate)) == nil)
    }
  }

  @Test func `audio with an impossible or contradictory header is refused`() {
    let good = [(frames: 5, tempo: Int64(500_000)), (frames: 2, tempo: 500_000)]
    for codec in [0, 2, 255] as [UInt8] {
      #expect(Self.refusal(Self.audio(chunks: good, codec: codec)) == .unknownCodec)
    }
    for channels in [0, 3, 4, 255] as [UInt8] {
      #expect(Self.refusal(Self.audio(chunks: good, channels: channels, sent: 28)) == .wrongChannelCount)
    }
    for rate in [0, 7_999, 384_001, 0xffff_ffff] as [Int64] {
      #expect(Self.refusal(Self.audio(chunks: good, rate: rate)) == .wrongSampleRate)
    }
    for frames in [0, 513, 65_535] {
      #expect(Self.refusal(Self.audio(chunks: [(frames, 500_000)], said: 2, sent: 2)) == .wrongChunkSize)
    }
    for tempo in [0, -1, .min] as [Int64] {
      #expect(Self.refusal(Self.audio(chunks: [(5, tempo)])) == .impossibleTempo)
    }
    for count in [0, 0xffff_ffff, 0x8000_0000] {
      #expect(Self.refusal(Self.audio(chunks: good, count: count)) == .wrongChunkCount)
    }
    #expect(Self.refusal(Self.audio(chunks: [(222, 500_000)], said: 2, sent: 2)) == .wrongAudioSize)
    for (said, sent) in [(13, 14), (15, 14), (14, 13), (14, 15), (0, 14), (14, 0)] {
      #expect(Self.refusal(Self.audio(chunks: good, said: said, sent: sent)) == .wrongAudioSize)
    }
    let whole = Self.audio(chunks: good)
    for size in 20..<whole.count { #expect(Self.refusal(Array(whole[..<size])) != nil) }
  }

  @Test func `audio that receivers refuse is not written`() {
    func isWritten(
      _ chunks: [AudioBuffer.Chunk], rate: Int = 48_000, channels: Int = 1, room: Int = 1200
    ) -> Bool {
      var memory = [UInt8](repeating: 0, count: room)
      return memory.withUnsafeMutableBytes { memory in
        chunks.withUnsafeBufferPointer {
          encodeAudioBuffer(
            AudioFormat(channel: Self.node, session: Self.node, sampleRate: rate, channelCount: channels),
            from: Self.node, chunks: $0, into: memory) != nil
        }
      }
    }
    func chunk(_ frames: Int, tempo: Double = 120) -> AudioBuffer.Chunk {
      AudioBuffer.Chunk(number: 1, frames: frames, begin: .zero, tempo: Tempo(tempo))
    }
    #expect(isWritten([chunk(251)]) && isWritten([chunk(281)], channels: 2))
    #expect(!isWritten([]) && !isWritten([chunk(0)]) && !isWritten([chunk(513)]) && !isWritten([chunk(-1)]))
    #expect(!isWritten([chunk(282)], channels: 2) && !isWritten([chunk(251)], room: 575))
    #expect(isWritten([chunk(251)], room: 576))
    #expect(!isWritten([chunk(5)], channels: 0) && !isWritten([chunk(5)], channels: 3))
    #expect(!isWritten([chunk(5)], rate: 0) && !isWritten([chunk(5)], rate: .max))
    #expect(
      !isWritten([AudioBuffer.Chunk(number: 1, frames: 5, begin: .zero, tempo: Tempo(microsPerBeat: 0))]))
    #expect(!isWritten([chunk(.max), chunk(.max)]))
  }

  /// Channels are split over announcements as Ableton's library does it: an announcement has at most 1176
  /// bytes of entries, including the ping's.
  @Test func `an announcement takes as many audio channels as fit`() throws {
    for ping in [nil, AudioExampleTests.echo] {
      let writer = [UInt8]().withUnsafeBytes {
        AnnouncementWriter(from: Self.node, in: Self.node, named: $0, ping: ping)
      }
      for nameSize in [0, 1, 7, 100, 256, 300] {
        let name = [UInt8](repeating: 65, count: nameSize)
        var writer = writer
        var count = 0
        while name.withUnsafeBytes({ writer.add(NodeID(rawValue: 1), named: $0) }) { count += 1 }
        let size = 12 + min(nameSize, 256)
        #expect(count == (1176 - 16 - 12 - 12 - (ping == nil ? 0 : 16)) / size)
        let packet = writer.finish().array
        #expect(packet.count <= 1196)
        try decodingAudio(packet) { read in
          guard case .announcement(let announcement) = read.body else {
            Issue.record("not an announcement")
            return
          }
          #expect(announcement.channels.count == count && announcement.ping == ping)
          #expect(announcement.channels.allSatisfy { $0.name.count == min(nameSize, 256) })
        }
      }
    }
  }

  /// Compiles only if nothing in it can allocate or lock.
  @_noLocks @_noAllocation
  func walk(_ bytes: UnsafeRawBufferPointer) throws(DecodingFailure) -> Int {
    let datagram = try decodeAudio(bytes)
    switch datagram.body {
    case .announcement(var announcement):
      var count = 0
      while let channel = announcement.channels.next() { count &+= channel.name.count }
      return count
    case .byes(let ids): return ids.count
    case .pong(let echo): return AudioPacket.pong(echo, from: datagram.node).count
    case .request(let channel): return AudioPacket.request(channel, from: datagram.node).count
    case .stop(let channel): return AudioPacket.stop(channel, from: datagram.node).count
    case .audio(let buffer): return buffer.chunk(at: 0).frames &+ Int(buffer.sample(at: 1))
    }
  }

  @Test func `audio messages are handled without allocation`() throws {
    #expect(
      try AudioExampleTests.all.map { try $0.withUnsafeBytes { try walk($0) } } == [5, 1, 36, 36, 36, 16_388])
  }

  @Test func `damaged audio messages are refused or survive writing and reading`() {
    var generator = MutationTests.Seeded(state: 1200)
    var accepted = 0, refused = [DecodingFailure: Int]()
    let seeds = AudioExampleTests.all + Capture.audio.flatMap { $0.filter { $0[0] == UInt8(ascii: "c") } }
    for _ in 0..<40_000 {
      var packet = MutationTests.wounded(seeds.randomElement(using: &generator) ?? [], using: &generator)
      // Only the head of an audio message can be wrong, so it is damaged more often than chance would.
      if packet.count > 80, packet[8] == 6, Bool.random(using: &generator) {
        packet[Int.random(in: 36..<74, using: &generator)] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
      }
      do {
        let again = try rewritten(packet)
        // Unknown entries are not written again. A missing name, a missing list, or missing bytes of a
        // session are added.
        if again.count > packet.count + 24 + 8 { Issue.record("\(packet)") }
        if try rewritten(again) != again { Issue.record("\(packet)") }
        accepted += 1
      } catch let failure as DecodingFailure {
        refused[failure, default: 0] += 1
      } catch {
        Issue.record("\(error)")
      }
    }
    #expect(accepted > 3_000)
    for failure in [
      .brokenPayload, .wrongEntrySize, .brokenList, .wrongChunkCount, .wrongChunkSize,
      .unknownCodec,
      .wrongChannelCount, .wrongSampleRate, .wrongAudioSize, .impossibleTempo, .missingEntry,
    ] as [DecodingFailure] {
      #expect(refused[failure, default: 0] > 10, "\(failure)")
    }
  }

  @Test func `random bytes are refused as messages of Link Audio`() {
    var generator = MutationTests.Seeded(state: 7)
    for _ in 0..<10_000 {
      let noise = (0..<Int.random(in: 0..<300, using: &generator)).map { _ in
        UInt8.random(in: 0...255, using: &generator)
      }
      if Self.refusal(noise) == nil { Issue.record("\(noise)") }
      // After a correct head the rest may be anything; decoding must end.
      _ = Self.refusal(Self.header(UInt8.random(in: 1...6, using: &generator)) + noise)
    }
  }
}
