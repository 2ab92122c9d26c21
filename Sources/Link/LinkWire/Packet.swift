// SPDX-License-Identifier: GPL-2.0-or-later

/// A datagram of discovery or measurement ready to be sent, without heap memory. The longest datagram that we
/// send has 201 bytes: a peer's state with two IPv6 endpoints, a clock origin and a song line.
public struct Packet: Sendable, BitwiseCopyable {
  /// The most bytes of a packet.
  public static let capacity = 201

  var storage = InlineArray<201, UInt8>(repeating: 0)
  /// The number of bytes to send, at most `capacity`.
  public private(set) var count = 0

  @_noLocks @_noAllocation
  init() {}

  /// Makes a packet of any bytes, for tests with forged packets. Returns nil if there are too many bytes.
  public init?(copying bytes: UnsafeRawBufferPointer) {
    guard bytes.count <= Packet.capacity else { return nil }
    for byte in bytes { append(byte) }
  }

  /// The bytes to send, valid only while `body` runs.
  public func withUnsafeBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try Swift.withUnsafeBytes(of: storage) { (bytes) throws(Failure) in
      try body(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
    }
  }

  @_noLocks @_noAllocation
  mutating func append(_ byte: UInt8) {
    assert(count < 201, "a message that does not fit its packet")
    guard count < 201 else { return }
    storage[count] = byte
    count &+= 1
  }

  @_noLocks @_noAllocation
  mutating func append(_ value: UInt16) {
    append(UInt8(truncatingIfNeeded: value >> 8))
    append(UInt8(truncatingIfNeeded: value))
  }

  @_noLocks @_noAllocation
  mutating func append(_ value: UInt32) {
    append(UInt16(truncatingIfNeeded: value >> 16))
    append(UInt16(truncatingIfNeeded: value))
  }

  @_noLocks @_noAllocation
  mutating func append(_ value: UInt64) {
    append(UInt32(truncatingIfNeeded: value >> 32))
    append(UInt32(truncatingIfNeeded: value))
  }

  @_noLocks @_noAllocation
  mutating func append(_ value: Int64) {
    append(UInt64(bitPattern: value))
  }
}

extension Packet: Hashable {
  public static func == (left: Packet, right: Packet) -> Bool {
    guard left.count == right.count else { return false }
    for index in 0..<left.count where left.storage[index] != right.storage[index] { return false }
    return true
  }

  public func hash(into hasher: inout Hasher) {
    withUnsafeBytes { hasher.combine(bytes: $0) }
  }
}
