// SPDX-License-Identifier: GPL-2.0-or-later

internal import LinkAddresses

// The bytes of the datagrams between two rooms. Numbers have their most significant byte first.
//
//   kind     its fields, with their sizes in bytes                                       whole size
//   hello    1 (1), public half (32), sealed: name (8), index (4), padding (20), tag (16)    81 bytes
//   answer   2 (1), index of the hello (4), public half (32), sealed: name (8), index (4),   65 bytes
//            tag (16)
//   sealed   3 (1), index (4), number (8), sealed: channel (1), a datagram of Link's,        30 to 542 bytes
//            tag (16)
//
// From the public half on, a hello and an answer are the two messages of the handshake (`Noise.swift`). The
// sealed part of a `sealed` datagram is a transport message of Noise whose nonce is the number, as section
// 11.4 of the specification describes for datagrams that may be lost or overtaken. The bytes before the
// sealed part need no seal: a wrong index leads to other keys, and a wrong number is a wrong nonce.
//
// A keep-alive contains no datagram of Link, but the endpoint to which the keep-alive is sent: an address of
// 4 or 16 bytes, and a port (2).
//
// The side that receives an index has chosen that index itself, to find its keys by it. A hello is longer
// than its answer, so that an attacker cannot make us send more than it sends.

/// A datagram whose seal has not been checked yet.
enum Datagram {
  case hello(HandshakeMessage)
  case answer(Answer)
  case sealed(SealedPayload)

  struct Answer {
    var index: UInt32
    var message: HandshakeMessage

    var bytes: [UInt8] { [Kind.answer.rawValue] + index.bigEndianBytes + message.bytes }
  }

  struct SealedPayload {
    var index: UInt32
    var number: UInt64
    var sealed: [UInt8]

    var bytes: [UInt8] {
      [Kind.sealed.rawValue] + index.bigEndianBytes + number.bigEndianBytes + sealed
    }
  }

  enum Kind: UInt8 {
    case hello = 1
    case answer, sealed
  }

  /// The sender's random name, and the index that the sender wants in each datagram that it receives.
  struct Introduction {
    var name: UInt64
    var index: UInt32

    static let size = 12

    var bytes: [UInt8] { name.bigEndianBytes + index.bigEndianBytes }

    init(name: UInt64, index: UInt32) {
      self.name = name
      self.index = index
    }

    init?(_ bytes: [UInt8]) {
      guard bytes.count >= Introduction.size else { return nil }
      name = UInt64(bigEndianBytes: bytes[0..<8])
      index = UInt32(bigEndianBytes: bytes[8..<12])
    }
  }

  /// Binds handshakes to this protocol. If the bytes of the protocol change, change the text, so that old and
  /// new programs refuse each other.
  static let prologue = [UInt8]("tactus far wire 2".utf8)
  /// The length of Link's longest message, in bytes.
  static let longestPayload = 512
  static let helloFilling = 20
  static let helloSize = 1 + FarKey.size + Introduction.size + helloFilling + FarLimits.tag
  static let answerSize = 1 + 4 + FarKey.size + Introduction.size + FarLimits.tag
  static let sealedHeaderSize = 13
  static let sealedSizes =
    sealedHeaderSize + 1 + FarLimits.tag...sealedHeaderSize + 1 + longestPayload + FarLimits.tag

  /// Returns nil if the bytes do not have the form of a datagram between two rooms.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard let kind = bytes.first.flatMap(Kind.init) else { return nil }
    switch kind {
    case .hello:
      guard bytes.count == Datagram.helloSize, let message = HandshakeMessage(bytes[1...]) else { return nil }
      self = .hello(message)
    case .answer:
      guard bytes.count == Datagram.answerSize, let message = HandshakeMessage(bytes[5...]) else {
        return nil
      }
      self = .answer(Answer(index: UInt32(bigEndianBytes: bytes[1..<5]), message: message))
    case .sealed:
      guard Datagram.sealedSizes.contains(bytes.count) else { return nil }
      self = .sealed(
        SealedPayload(
          index: UInt32(bigEndianBytes: bytes[1..<5]), number: UInt64(bigEndianBytes: bytes[5..<13]),
          sealed: [UInt8](bytes[13...])))
    }
  }
}

extension Endpoint {
  /// The bytes of this endpoint in a keep-alive: the address, then the port.
  var told: [UInt8] {
    switch address {
    case .v4(let bits): bits.bigEndianBytes + port.bigEndianBytes
    case .v6(let high, let low, _): high.bigEndianBytes + low.bigEndianBytes + port.bigEndianBytes
    }
  }

  /// Reads an endpoint from a keep-alive. Returns nil if the number of bytes fits neither IPv4 nor IPv6.
  init?(told bytes: ArraySlice<UInt8>) {
    let (address, end) = (bytes.dropLast(2), bytes.suffix(2))
    switch bytes.count {
    case 6:
      self.init(.v4(UInt32(bigEndianBytes: address)), port: UInt16(bigEndianBytes: end))
    case 18:
      let (high, low) = (UInt64(bigEndianBytes: address.prefix(8)), UInt64(bigEndianBytes: address.suffix(8)))
      self.init(.v6(high: high, low: low, scope: 0), port: UInt16(bigEndianBytes: end))
    default: return nil
    }
  }
}

extension FixedWidthInteger {
  var bigEndianBytes: [UInt8] { withUnsafeBytes(of: bigEndian) { [UInt8]($0) } }

  /// Reads a number, the most significant byte first. `bytes` must have the size of this integer type.
  init(bigEndianBytes bytes: some Collection<UInt8>) {
    self = bytes.reduce(0) { $0 << 8 | Self($1) }
  }
}
