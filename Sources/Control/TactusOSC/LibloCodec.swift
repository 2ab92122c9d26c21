// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusLiblo

/// liblo decodes checked messages and encodes ours. We use none of its sockets, threads and queues: in
/// Debian's version 0.31 they answer the wrong client and grow without bound.
package enum LibloCodec {
  /// The messages of a packet in order; a bundle's time is ignored.
  package static func messages(in packet: UnsafeRawBufferPointer) throws(MalformedPacket) -> [Message] {
    try PacketCheck.parts(of: packet).compactMap {
      decode(UnsafeRawBufferPointer(rebasing: packet[$0.range]))
    }
  }

  /// Decodes a message that `PacketCheck` has accepted. nil: liblo refuses the message all the same.
  package static func decode(_ bytes: UnsafeRawBufferPointer) -> Message? {
    guard let base = bytes.baseAddress else { return nil }
    // liblo copies what it needs and changes nothing, although its signature wants a mutable pointer.
    let data = UnsafeMutableRawPointer(mutating: base)
    let address = String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    let end = (address.utf8.count / 4 + 1) * 4
    // Very old senders omit the type tags of messages without arguments.
    guard end < bytes.count else { return Message(address) }
    guard let message = lo_message_deserialise(data, bytes.count, nil) else { return nil }
    defer { lo_message_free(message) }
    let count = Int(lo_message_get_argc(message))
    guard let types = lo_message_get_types(message) else { return nil }
    guard count > 0, let values = lo_message_get_argv(message) else { return Message(address) }
    var arguments: [Argument] = []
    arguments.reserveCapacity(count)
    for index in 0..<count {
      guard let argument = self.argument(UInt8(bitPattern: types[index]), values[index]) else { return nil }
      arguments.append(argument)
    }
    return Message(address, arguments: arguments)
  }

  /// Values of 64 bits may lie at any multiple of four bytes, so they are loaded unaligned.
  private static func argument(_ tag: UInt8, _ value: UnsafeMutablePointer<lo_arg>?) -> Argument? {
    switch tag {
    case UInt8(ascii: "T"): return .truth(true)
    case UInt8(ascii: "F"): return .truth(false)
    case UInt8(ascii: "N"): return .null
    case UInt8(ascii: "I"): return .impulse
    default: break
    }
    guard let value else { return nil }
    let raw = UnsafeRawPointer(value)
    switch tag {
    case UInt8(ascii: "i"): return .int32(raw.loadUnaligned(as: Int32.self))
    case UInt8(ascii: "h"): return .int64(raw.loadUnaligned(as: Int64.self))
    case UInt8(ascii: "f"): return .float32(raw.loadUnaligned(as: Float.self))
    case UInt8(ascii: "d"): return .float64(raw.loadUnaligned(as: Double.self))
    case UInt8(ascii: "s"), UInt8(ascii: "S"):
      return .string(String(cString: raw.assumingMemoryBound(to: CChar.self)))
    default: return .other(tag: tag)
    }
  }

  package static func encode(_ message: Message) -> [UInt8] {
    guard let made = lo_message_new() else { return [] }
    defer { lo_message_free(made) }
    for argument in message.arguments {
      switch argument {
      case .int32(let value): lo_message_add_int32(made, value)
      case .int64(let value): lo_message_add_int64(made, value)
      case .float32(let value): lo_message_add_float(made, value)
      case .float64(let value): lo_message_add_double(made, value)
      case .string(let text): lo_message_add_string(made, text)
      case .truth(true): lo_message_add_true(made)
      case .truth(false): lo_message_add_false(made)
      case .null: lo_message_add_nil(made)
      case .impulse: lo_message_add_infinitum(made)
      case .other: continue
      }
    }
    let size = lo_message_length(made, message.address)
    return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      var written = 0
      let done = lo_message_serialise(made, message.address, buffer.baseAddress, &written)
      count = done == nil ? 0 : written
    }
  }
}

/// Packs encoded messages into bundles that fit into one Wi-Fi frame: a datagram in fragments is easily lost.
package enum Bundle {
  package static let datagramLimit = 1400

  package static func pack(_ messages: [[UInt8]]) -> [[UInt8]] {
    if messages.count == 1, messages[0].count <= datagramLimit { return messages }
    var datagrams: [[UInt8]] = []
    var open: [UInt8] = []
    for message in messages {
      if !open.isEmpty, open.count + 4 + message.count > datagramLimit {
        datagrams.append(open)
        open = []
      }
      if open.isEmpty { open = Array("#bundle\0".utf8) + [0, 0, 0, 0, 0, 0, 0, 1] }
      withUnsafeBytes(of: UInt32(message.count).bigEndian) { open.append(contentsOf: $0) }
      open.append(contentsOf: message)
    }
    if !open.isEmpty { datagrams.append(open) }
    return datagrams
  }
}
