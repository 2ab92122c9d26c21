// SPDX-License-Identifier: GPL-2.0-or-later

/// Checks the structure of a packet byte by byte before liblo gets it: liblo 0.31 reads past the end of a
/// blob without a size and of an empty bundle element.
///
/// Safe for every input: never reads outside the packet, never recurses deeper than `depthLimit`, and never
/// lists more than `messageLimit` messages.
package struct PacketCheck {
  package static let depthLimit = 8
  package static let messageLimit = 256
  static let argumentLimit = 64
  package static let addressLimit = 255

  /// The range of a message's bytes within the packet, and the time at which the message takes effect.
  package struct Part: Hashable {
    package var range: Range<Int>
    package var timetag: Timetag
  }

  private let bytes: UnsafeRawBufferPointer
  private var parts: [Part] = []

  package static func parts(of bytes: UnsafeRawBufferPointer) throws(MalformedPacket) -> [Part] {
    guard bytes.count > 0 else { throw .empty }
    var check = PacketCheck(bytes: bytes)
    try check.element(0..<bytes.count, timetag: .immediately, depth: 0)
    return check.parts
  }

  private init(bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
  }

  private mutating func element(_ range: Range<Int>, timetag: Timetag, depth: Int) throws(MalformedPacket) {
    guard range.count >= 4 else { throw .short }
    guard range.count % 4 == 0 else { throw .unaligned }
    switch bytes[range.lowerBound] {
    case UInt8(ascii: "#"): try bundle(range, within: timetag, depth: depth)
    case UInt8(ascii: "/"): try message(range, timetag: timetag)
    default: throw .neitherMessageNorBundle
    }
  }

  private mutating func bundle(_ range: Range<Int>, within outer: Timetag, depth: Int) throws(MalformedPacket)
  {
    guard depth < Self.depthLimit else { throw .tooDeep }
    guard range.count >= 16, bytes[range.lowerBound..<range.lowerBound + 8].elementsEqual("#bundle\0".utf8)
    else {
      throw .neitherMessageNorBundle
    }
    var timetag = Timetag(
      rawValue: UInt64(word(range.lowerBound + 8)) << 32 | UInt64(word(range.lowerBound + 12)))
    // An inner bundle is never due before the outer bundle (OSC 1.0), whatever the inner timetag says.
    if timetag.isImmediate || timetag.seconds(since: outer) < 0 {
      timetag = outer.isImmediate ? timetag : outer
    }
    var at = range.lowerBound + 16
    while at < range.upperBound {
      guard range.upperBound - at >= 4 else { throw .short }
      let size = Int(word(at))
      at += 4
      guard size >= 4, size <= range.upperBound - at else { throw .elementSize }
      try element(at..<at + size, timetag: timetag, depth: depth + 1)
      at += size
    }
  }

  private mutating func message(_ range: Range<Int>, timetag: Timetag) throws(MalformedPacket) {
    guard parts.count < Self.messageLimit else { throw .tooManyMessages }
    var at = try stringEnd(range.lowerBound, in: range)
    guard at - range.lowerBound <= Self.addressLimit + 4 else { throw .addressTooLong }
    for byte in bytes[range.lowerBound..<at] where byte != 0 && !(0x21...0x7e).contains(byte) {
      throw .addressCharacter
    }
    if at < range.upperBound {
      guard bytes[at] == UInt8(ascii: ",") else { throw .typeTags }
      let tags = at + 1
      at = try stringEnd(at, in: range)
      var count = 0
      for index in tags..<at where bytes[index] != 0 {
        count += 1
        guard count <= Self.argumentLimit else { throw .tooManyArguments }
        at = try argument(bytes[index], at: at, in: range)
      }
      guard at == range.upperBound else { throw .trailingBytes }
    }
    parts.append(Part(range: range, timetag: timetag))
  }

  /// Returns the place after the argument.
  private func argument(_ tag: UInt8, at: Int, in range: Range<Int>) throws(MalformedPacket) -> Int {
    switch tag {
    case UInt8(ascii: "i"), UInt8(ascii: "f"), UInt8(ascii: "c"), UInt8(ascii: "m"):
      return try skip(4, from: at, in: range)
    case UInt8(ascii: "h"), UInt8(ascii: "d"), UInt8(ascii: "t"):
      return try skip(8, from: at, in: range)
    case UInt8(ascii: "s"), UInt8(ascii: "S"):
      return try stringEnd(at, in: range)
    case UInt8(ascii: "b"):
      let data = try skip(4, from: at, in: range)
      let size = Int(word(at))
      guard size <= range.upperBound - data else { throw .blobSize }
      return try skip((size + 3) & ~3, from: data, in: range)
    case UInt8(ascii: "T"), UInt8(ascii: "F"), UInt8(ascii: "N"), UInt8(ascii: "I"):
      return at
    default:
      // Colours (r) and arrays are refused, too: liblo 0.31 cannot decode them.
      throw .unknownTag
    }
  }

  private func skip(_ count: Int, from at: Int, in range: Range<Int>) throws(MalformedPacket) -> Int {
    guard count <= range.upperBound - at else { throw .argumentMissing }
    return at + count
  }

  /// Returns the place after the string that begins at `start`, and after its padding.
  private func stringEnd(_ start: Int, in range: Range<Int>) throws(MalformedPacket) -> Int {
    var at = start
    while at < range.upperBound, bytes[at] != 0 { at += 1 }
    guard at < range.upperBound else { throw .unterminatedString }
    let end = start + ((at - start) / 4 + 1) * 4
    guard end <= range.upperBound else { throw .unterminatedString }
    for index in at..<end where bytes[index] != 0 { throw .padding }
    return end
  }

  private func word(_ at: Int) -> UInt32 {
    UInt32(bytes[at]) << 24 | UInt32(bytes[at + 1]) << 16 | UInt32(bytes[at + 2]) << 8 | UInt32(bytes[at + 3])
  }
}

/// Why a packet is not passed to liblo.
package enum MalformedPacket: String, Error {
  case empty, short, unaligned, neitherMessageNorBundle, tooDeep, elementSize, tooManyMessages, addressTooLong
  case addressCharacter, typeTags, tooManyArguments, trailingBytes, unknownTag, argumentMissing, blobSize
  case unterminatedString, padding
}
