// SPDX-License-Identifier: GPL-2.0-or-later
import LinkWire

/// Bytes from hexadecimal digits; spaces and line ends are ignored.
func bytes(_ hex: String) -> [UInt8] {
  let digits = hex.compactMap { $0.hexDigitValue }
  return stride(from: 0, to: digits.count - 1, by: 2).map { (place: Int) -> UInt8 in
    UInt8(digits[place] * 16 + digits[place + 1])
  }
}

/// A number as eight bytes, the most significant byte first.
func bytes(of value: Int64) -> [UInt8] {
  (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * $0)) }
}

/// The bytes of one entry of a payload.
func entry(_ key: String, _ value: [UInt8]) -> [UInt8] {
  Array(key.utf8) + (0..<4).map { UInt8(truncatingIfNeeded: value.count >> (24 - 8 * $0)) } + value
}

extension Packet {
  var array: [UInt8] { withUnsafeBytes { Array($0) } }
}

extension AudioPacket {
  var array: [UInt8] { withUnsafeBytes { Array($0) } }
}

/// Decodes bytes that end exactly at the end of their allocation, so that a sanitizer sees over-reads.
func decodeDiscovery(_ bytes: [UInt8]) throws -> DiscoveryMessage {
  try borrowing(bytes) { try LinkWire.decodeDiscovery($0) }
}

func decodeDiscoveryHeader(_ bytes: [UInt8]) throws -> DiscoveryHeader {
  try borrowing(bytes) { try LinkWire.decodeDiscoveryHeader($0) }
}

func decodeMeasurement(_ bytes: [UInt8]) throws -> MeasurementMessage {
  try borrowing(bytes) { try LinkWire.decodeMeasurement($0) }
}

/// Calls the closure with the message while its bytes are valid.
@discardableResult
func decodingAudio<Result>(_ bytes: [UInt8], _ look: (AudioMessage) throws -> Result) throws -> Result {
  try borrowing(bytes) { try look(LinkWire.decodeAudio($0)) }
}

private func borrowing<Result>(
  _ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws -> Result
) rethrows -> Result {
  let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
  defer { copy.deallocate() }
  copy.copyBytes(from: bytes)
  return try body(UnsafeRawBufferPointer(copy))
}
