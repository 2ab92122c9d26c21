// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import Testing

@testable import LinkAudioSession

/// Names that are not UTF-8: the reference cuts long names after 256 bytes, and a peer may send any bytes.
struct PeersNameTests {
  private static let peer = Stranger(1)

  /// An announcement whose names may be any bytes.
  private static func announcement(peer name: [UInt8], channels: [(id: UInt64, name: [UInt8])]) -> AudioPacket
  {
    var writer = name.withUnsafeBytes {
      AnnouncementWriter(from: peer.node, in: peer.session, named: $0, ping: nil)
    }
    for channel in channels {
      _ = channel.name.withUnsafeBytes { writer.add(NodeID(rawValue: channel.id), named: $0) }
    }
    return writer.finish()
  }

  private static func name(_ bytes: [UInt8], after old: String? = nil) -> PeersName? {
    bytes.withUnsafeBytes { bytes in old.map { PeersName(bytes, after: $0) } ?? PeersName(bytes) }
  }

  private var bench = Bench()

  private mutating func receive(
    peer name: [UInt8] = Array("Studio".utf8), _ channels: (id: UInt64, name: [UInt8])...
  ) {
    bench.receive(Self.announcement(peer: name, channels: channels), from: Self.peer.endpoint)
    bench.wait(100_000, with: [Self.peer])
  }

  private var shown: [String] { bench.channels.map { "\($0.peerName)/\($0.name)" } }

  @Test
  mutating func `a channel name that is not UTF-8 is repaired and hides no channel`() {
    bench.meet(Self.peer)
    let korean = Array(String(repeating: "가", count: 86).utf8)
    receive(
      (1, Array("Good1".utf8)), (2, [0x42, 0xe4, 0x73, 0x73, 0x65]), (3, Array(korean[..<256])),
      (4, Array("Good2".utf8)))
    #expect(
      shown.sorted() == [
        "Studio/B\u{FFFD}sse", "Studio/Good1", "Studio/Good2", "Studio/" + String(repeating: "가", count: 85),
      ])
    #expect(bench.machine.counters.repairedNames == 2 && bench.machine.counters.malformed == 0)
    // The channel with the repaired name can be subscribed to like any other channel.
    let source = bench.subscribe(NodeID(rawValue: 2))
    #expect(bench.receive(Self.peer.audio(NodeID(rawValue: 2)), from: Self.peer.endpoint) == source)
  }

  @Test mutating func `a peer whose name is not UTF-8 keeps its channels`() {
    bench.meet(Self.peer)
    receive(peer: [0x53, 0xff, 0xfe], (1, Array("Good".utf8)))
    #expect(shown == ["S\u{FFFD}\u{FFFD}/Good"])
  }

  @Test mutating func `a name that is not UTF-8 is reported as a change only once`() {
    bench.meet(Self.peer)
    receive((1, [0x42, 0xe4]))
    let (changes, repaired) = (bench.listChanges, bench.machine.counters.repairedNames)
    for _ in 0..<50 { receive((1, [0x42, 0xe4])) }
    #expect(bench.listChanges == changes && bench.machine.counters.repairedNames == repaired)
    receive((1, Array("Bä".utf8)))
    #expect(shown == ["Studio/Bä"])
  }

  @Test mutating func `the counter of repaired names wraps`() {
    bench.meet(Self.peer)
    bench.machine.counters.repairedNames = .max
    receive(peer: [0x53, 0xff], (1, [0x42, 0xe4]))
    #expect(bench.machine.counters.repairedNames == 1)
    #expect(shown == ["S\u{FFFD}/B\u{FFFD}"])
  }

  /// A name's repair can make it longer, because U+FFFD takes three bytes.
  @Test func `every received name becomes valid text of at most 256 bytes`() throws {
    #expect(Self.name([UInt8](repeating: 0xff, count: 256))?.text == String(repeating: "\u{FFFD}", count: 85))
    var dice = SecretDice((19, 19))
    for _ in 0..<5_000 {
      let bytes = (0..<dice.next() % 257).map { _ in
        let chance = dice.next()
        return chance & 1 == 0 ? 0x80 | UInt8(chance >> 57) : 0x41
      }
      let name = try #require(Self.name(bytes))
      let isText = String(validating: bytes, as: UTF8.self) != nil
      if name.text.utf8.count > 256 || name.isRepaired == isText || isText && Array(name.text.utf8) != bytes {
        Issue.record("\(bytes)")
      }
      // Receiving the same name again is no change.
      if Self.name(bytes, after: name.text) != nil { Issue.record("\(bytes)") }
    }
  }
}
