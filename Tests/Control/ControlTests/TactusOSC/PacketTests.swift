// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import TactusOSC

@Suite("Packets are checked before they are decoded")
struct PacketTests {
  static let tempo: [UInt8] = hex("2f627269 6467652f 74656d70 6f000000 2c660000 42f10000")

  @Test
  func `the examples of the OSC specification decode`() throws {
    #expect(try messages(Self.tempo) == [Message("/bridge/tempo", .float32(120.5))])
    #expect(
      try messages(hex("2f627269 6467652f 73746172 74000000 2c000000")) == [Message("/bridge/start")])
    #expect(
      try messages(
        hex("2f610000 2c697362 54466400 ffffffff 61626364 00000000 00000003 01020300 3fe00000 00000000"))
        == [
          Message(
            "/a", .int32(-1), .string("abcd"), .other(tag: UInt8(ascii: "b")), .truth(true), .truth(false),
            .float64(0.5))
        ])
    #expect(
      try messages(
        hex(
          "2362756e 646c6500 00000000 00000001 00000018 2f627269 6467652f 74656d70 6f000000 2c660000 42f10000"
            + "00000014 2f627269 6467652f 73746172 74000000 2c000000"))
        == [Message("/bridge/tempo", .float32(120.5)), Message("/bridge/start")])
  }

  @Test
  func `OSC arguments of every type are received as they were sent`() throws {
    let message = Message(
      "/x", .int32(.min), .int64(.max), .float32(0.1), .float64(-1e300), .string("äöü"), .string(""),
      .truth(true),
      .truth(false), .null, .impulse)
    #expect(try messages(LibloCodec.encode(message)) == [message])
  }

  @Test
  func `an OSC message without type tags has no arguments`() throws {
    #expect(try messages(hex("2f610000")) == [Message("/a")])
  }

  @Test(arguments: [
    ("", MalformedPacket.empty), ("2f61", .short), ("2f616263 64", .unaligned),
    ("2f616263", .unterminatedString),
    ("61620000", .neitherMessageNorBundle), ("2f610001", .padding), ("2f610000 2c690000", .argumentMissing),
    ("2f610000 2c620000", .argumentMissing), ("2f610000 2c620000 ffffffff", .blobSize),
    ("2f610000 2c620000 00000005 01020304", .blobSize), ("2f610000 2c780000", .unknownTag),
    ("2f610000 2c690000 00000001 00000002", .trailingBytes),
    ("2f610000 2c5b695d 00000000 00000001", .unknownTag),
    ("2f610000 69000000", .typeTags), ("2362756e 646c6500 00000000", .neitherMessageNorBundle),
    ("2362756e 646c6500 00000000 00000001 00000000", .elementSize),
    ("2362756e 646c6500 00000000 00000001 fffffffc", .elementSize),
    ("2362756e 646c6500 00000000 00000001 00000008 2f610000", .elementSize),
    ("2f200000", .addressCharacter),
    ("2f610000 2c737300 61000000", .unterminatedString),
  ])
  func `malformed OSC packets are refused with the right reason`(digits: String, reason: MalformedPacket) {
    #expect(throws: reason) { try messages(hex(digits)) }
  }

  @Test
  func `OSC bundles within bundles have a limited depth`() {
    var packet = Self.tempo
    for level in 1...200 {
      packet = Array("#bundle\0".utf8) + [0, 0, 0, 0, 0, 0, 0, 1] + Self.size(packet.count) + packet
      if level <= PacketCheck.depthLimit {
        #expect(throws: Never.self) { try messages(packet) }
      } else {
        #expect(throws: MalformedPacket.tooDeep) { try messages(packet) }
      }
    }
  }

  @Test
  func `an inner OSC bundle is never due before the bundle around it`() throws {
    func bundle(_ time: UInt32, _ content: [UInt8]) -> [UInt8] {
      Array("#bundle\0".utf8) + Self.size(Int(time)) + [0, 0, 0, 0] + Self.size(content.count) + content
    }
    let early = bundle(1000, bundle(900, Self.tempo))
    let late = bundle(1000, bundle(1100, Self.tempo))
    #expect(try parts(early).map(\.timetag.rawValue) == [1000 << 32])
    #expect(try parts(late).map(\.timetag.rawValue) == [1100 << 32])
  }

  @Test
  func `no change of one byte and no cut breaks the OSC decoder`() {
    let bundle =
      Array("#bundle\0".utf8) + [0, 0, 0, 0, 0, 0, 0, 1] + Self.size(Self.tempo.count) + Self.tempo
    let rich = LibloCodec.encode(
      Message("/tactus/tempo", .string("abc"), .float64(1), .int64(2), .truth(true)))
    for packet in [bundle, rich] {
      for index in packet.indices {
        for value in UInt8.min...UInt8.max {
          var changed = packet
          changed[index] = value
          do { _ = try messages(changed) } catch { #expect(error is MalformedPacket, "\(changed)") }
        }
        _ = try? messages(Array(packet[..<index]))
      }
    }
  }

  @Test
  func `OSC timetags count from 1900, and past 2036`() {
    #expect(Timetag(unixSeconds: 1_700_000_000, nanoseconds: 250_000_000).rawValue == 0xe8fe_6f80_4000_0000)
    let before = Timetag(rawValue: 0xffff_ffff_8000_0000)
    let after = Timetag(rawValue: 0x0000_0001_0000_0000)
    #expect(after.seconds(since: before) == 1.5)
    #expect(before.seconds(since: after) == -1.5)
  }

  @Test
  func `OSC datagrams fit into a Wi-Fi frame, and no message is lost`() throws {
    let packets = (0..<200).map { LibloCodec.encode(Message("/tactus/value/\($0)", .int32($0))) }
    let datagrams = Bundle.pack(packets)
    #expect(datagrams.allSatisfy { $0.count <= 1400 } && datagrams.count > 1)
    #expect(try datagrams.flatMap(messages).count == 200)
  }

  static func size(_ count: Int) -> [UInt8] { withUnsafeBytes(of: UInt32(count).bigEndian) { Array($0) } }

  func parts(_ bytes: [UInt8]) throws -> [PacketCheck.Part] {
    try bytes.withUnsafeBytes { try PacketCheck.parts(of: $0) }
  }

  func messages(_ bytes: [UInt8]) throws -> [Message] {
    // The allocation has exactly the packet's size, so that a sanitizer notices a read past the packet's end.
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 4)
    defer { copy.deallocate() }
    copy.copyBytes(from: bytes)
    return try PacketCheck.parts(of: UnsafeRawBufferPointer(copy)).map {
      try #require(LibloCodec.decode(UnsafeRawBufferPointer(rebasing: copy[$0.range])))
    }
  }
}

func hex(_ text: String) -> [UInt8] {
  let digits = text.filter { $0 != " " }
  return stride(from: 0, to: digits.count, by: 2).map { offset in
    let start = digits.index(digits.startIndex, offsetBy: offset)
    return UInt8(digits[start..<digits.index(start, offsetBy: 2)], radix: 16) ?? 0
  }
}
