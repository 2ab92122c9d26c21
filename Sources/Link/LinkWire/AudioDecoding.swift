// SPDX-License-Identifier: GPL-2.0-or-later

/// Decodes any datagram of an audio socket. Lists and audio are checked as a whole before any part is
/// returned.
@_noLocks @_noAllocation
public func decodeAudio(_ bytes: UnsafeRawBufferPointer) throws(DecodingFailure) -> AudioMessage {
  let reader = Reader(bytes, from: Wire.discoveryHeaderSize)
  guard bytes.count >= Wire.discoveryHeaderSize, reader.uint64(at: 0) == Wire.audioProtocol
  else { throw .notLink }
  guard bytes.count <= Wire.maximumAudioMessageSize else { throw .tooLong }
  guard let kind = AudioKind(code: reader.uint8(at: 8)) else { throw .unknownType }
  guard reader.uint16(at: 10) == 0 else { throw .otherGroup }
  return AudioMessage(
    node: NodeID(rawValue: reader.uint64(at: 12)), timeToLive: reader.uint8(at: 9),
    body: try decode(kind, reader))
}

@_noLocks @_noAllocation
private func decode(_ kind: AudioKind, _ reader: Reader) throws(DecodingFailure) -> AudioMessage.Body {
  switch kind {
  case .audio: return .audio(try AudioBuffer(reader))
  case .announcement:
    let entries = try AudioEntries(reader)
    guard entries.hasSession else { throw .missingEntry }
    var announcement = entries.announcement
    announcement.ping = entries.echo
    return .announcement(announcement)
  case .byes:
    guard let byes = try AudioEntries(reader).byes else { throw .missingEntry }
    return .byes(byes)
  case .pong:
    guard let echo = try AudioEntries(reader).echo else { throw .missingEntry }
    return .pong(echo)
  case .request:
    guard let channel = try AudioEntries(reader).channel else { throw .missingEntry }
    return .request(channel)
  case .stop:
    guard let channel = try AudioEntries(reader).channel else { throw .missingEntry }
    return .stop(channel)
  }
}

/// The payload of a message without audio. The rules of entries are those of discovery (facts: link 1).
private struct AudioEntries {
  var hasSession = false
  var announcement = AudioAnnouncement()
  var byes: ChannelIDs?
  var echo: AudioEcho?
  var channel: ChannelID?

  @_noLocks @_noAllocation
  init(_ reader: Reader) throws(DecodingFailure) {
    var reader = reader
    while let entry = try reader.nextEntry() { try read(entry, of: reader) }
  }

  @_noLocks @_noAllocation
  private mutating func read(_ entry: Entry, of reader: Reader) throws(DecodingFailure) {
    switch entry.key {
    case .session:
      announcement.session = try readSession(entry, of: reader)
      hasSession = true
    case .peerName:
      var text = Reader(reader.bytes, from: entry.start)
      announcement.peerName = try text.nextText(before: entry.start &+ entry.size)
      guard text.position == entry.start &+ entry.size else { throw .brokenList }
    case .channels: announcement.channels = try ChannelList(entry, of: reader)
    case .channelByes: byes = try ChannelIDs(entry, of: reader)
    case .hostTime:
      guard entry.size == 8 else { throw .wrongEntrySize }
      echo = AudioEcho(rawValue: reader.uint64(at: entry.start))
    case .channel:
      guard entry.size == 8 else { throw .wrongEntrySize }
      channel = NodeID(rawValue: reader.uint64(at: entry.start))
    case .timeline, .startStop, .measurementV4, .measurementV6, .ghostTime, .previousGhostTime, .clock, .song,
      .relayTime,
      .audioV4, .audioV6, nil:
      return
    }
  }
}
