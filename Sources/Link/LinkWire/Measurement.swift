// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath

/// Decodes a measurement datagram. The payload of a ping is kept as bytes, to be echoed; the payload of a
/// pong is decoded.
@_noLocks @_noAllocation
public func decodeMeasurement(_ bytes: UnsafeRawBufferPointer) throws(DecodingFailure) -> MeasurementMessage {
  var reader = Reader(bytes, from: Wire.measurementHeaderSize)
  guard bytes.count >= Wire.measurementHeaderSize, reader.uint64(at: 0) == Wire.measurementProtocol
  else { throw .notLink }
  guard bytes.count <= Wire.maximumMessageSize else { throw .tooLong }
  switch reader.uint8(at: 8) {
  case 1:
    guard bytes.count <= Wire.measurementHeaderSize &+ Wire.maximumEchoSize else { throw .pingTooLong }
    return .ping(EchoPayload(copying: bytes, from: Wire.measurementHeaderSize))
  case 2:
    var pong = Pong(session: NodeID(rawValue: 0), ghost: .zero, host: .zero, previousGhost: .zero)
    while let entry = try reader.nextEntry() {
      try read(entry, of: reader, into: &pong)
    }
    return .pong(pong)
  default:
    throw .unknownType
  }
}

@_noLocks @_noAllocation
private func read(_ entry: Entry, of reader: Reader, into pong: inout Pong) throws(DecodingFailure) {
  switch entry.key {
  case .session: pong.session = try readSession(entry, of: reader)
  case .ghostTime: pong.ghost = try readTime(entry, of: reader)
  case .hostTime: pong.host = try readTime(entry, of: reader)
  case .previousGhostTime: pong.previousGhost = try readTime(entry, of: reader)
  case .relayTime:
    // Another program may use our key for another entry, of another size.
    if entry.size == 8 { pong.relay = try readTime(entry, of: reader) }
  case .timeline, .startStop, .measurementV4, .measurementV6, .clock, .song, .audioV4, .audioV6, .peerName,
    .channels,
    .channelByes, .channel, nil:
    return
  }
}

@_noLocks @_noAllocation
private func readTime(_ entry: Entry, of reader: Reader) throws(DecodingFailure) -> Micros {
  guard entry.size == 8 else { throw .wrongEntrySize }
  return Micros(reader.int64(at: entry.start))
}

/// A ping. The first ping of a chain and every repeated ping contain only our host time. Every other ping
/// also contains the ghost time of the pong before it.
@_noLocks @_noAllocation
public func encodePing(host: Micros, previousGhost: Micros?) -> Packet {
  var packet = Packet()
  packet.append(Wire.measurementProtocol)
  packet.append(1 as UInt8)
  packet.append(key: .hostTime, size: 8)
  packet.append(host.count)
  if let previousGhost {
    packet.append(key: .previousGhostTime, size: 8)
    packet.append(previousGhost.count)
  }
  return packet
}

/// The answer to a ping: our session, our ghost time now, and the ping's bytes. A relay that answers another
/// relay adds its host time.
@_noLocks @_noAllocation
public func encodePong(
  session: SessionID, ghost: Micros, relay host: Micros? = nil, echoing echo: EchoPayload
) -> Packet {
  var packet = Packet()
  packet.append(Wire.measurementProtocol)
  packet.append(2 as UInt8)
  packet.append(key: .session, size: 8)
  packet.append(session.rawValue)
  packet.append(key: .ghostTime, size: 8)
  packet.append(ghost.count)
  if let host {
    packet.append(key: .relayTime, size: 8)
    packet.append(host.count)
  }
  var index = 0
  while index < echo.count {
    packet.append(echo.byte(at: index))
    index &+= 1
  }
  return packet
}
