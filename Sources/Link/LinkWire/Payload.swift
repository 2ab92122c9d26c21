// SPDX-License-Identifier: GPL-2.0-or-later

/// The keys of the entries we understand. Entries with other keys are skipped, so that the protocol can grow.
/// A key is four ASCII characters, the first in the most significant byte (facts: link 1.1).
enum EntryKey {
  case timeline, session, startStop, measurementV4, measurementV6, hostTime, ghostTime, previousGhostTime,
    clock, relayTime, audioV4, audioV6, peerName, channels, channelByes, channel, song

  @_noLocks @_noAllocation
  init?(code: UInt32) {
    switch code {
    case 0x746d_6c6e: self = .timeline
    case 0x7365_7373: self = .session
    case 0x7374_7374: self = .startStop
    case 0x6d65_7034: self = .measurementV4
    case 0x6d65_7036: self = .measurementV6
    case 0x5f5f_6874: self = .hostTime
    case 0x5f5f_6774: self = .ghostTime
    case 0x5f70_6774: self = .previousGhostTime
    case 0x7463_6c6b: self = .clock
    case 0x7472_6874: self = .relayTime
    case 0x7473_6e67: self = .song
    case 0x6165_7034: self = .audioV4
    case 0x6165_7036: self = .audioV6
    case 0x5f5f_7069: self = .peerName
    case 0x6175_6361: self = .channels
    case 0x6175_6362: self = .channelByes
    case 0x6368_6964: self = .channel
    default: return nil
    }
  }

  var code: UInt32 {
    @_noLocks @_noAllocation get {
      switch self {
      case .timeline: 0x746d_6c6e  // tmln
      case .session: 0x7365_7373  // sess
      case .startStop: 0x7374_7374  // stst
      case .measurementV4: 0x6d65_7034  // mep4
      case .measurementV6: 0x6d65_7036  // mep6
      case .hostTime: 0x5f5f_6874  // __ht
      case .ghostTime: 0x5f5f_6774  // __gt
      case .previousGhostTime: 0x5f70_6774  // _pgt
      case .clock: 0x7463_6c6b  // tclk, an entry of our own
      case .relayTime: 0x7472_6874  // trht, an entry of our own, between relays only
      case .song: 0x7473_6e67  // tsng, an entry of our own
      case .audioV4: 0x6165_7034  // aep4
      case .audioV6: 0x6165_7036  // aep6
      case .peerName: 0x5f5f_7069  // __pi
      case .channels: 0x6175_6361  // auca
      case .channelByes: 0x6175_6362  // aucb
      case .channel: 0x6368_6964  // chid
      }
    }
  }
}

/// One entry of a payload: the bytes of its value lie in `start ..< start + size` of the datagram.
struct Entry {
  /// The key of the entry; nil if we do not know the key.
  var key: EntryKey?
  var start: Int
  var size: Int
}

/// A borrowed datagram and a position in it. Reading outside the datagram gives zero, so that a mistake
/// cannot read other memory.
struct Reader {
  let bytes: UnsafeRawBufferPointer
  var position: Int

  @_noLocks @_noAllocation
  init(_ bytes: UnsafeRawBufferPointer, from position: Int) {
    self.bytes = bytes
    self.position = position
  }

  /// The next entry, or nil at the end of the payload.
  @_noLocks @_noAllocation
  mutating func nextEntry() throws(DecodingFailure) -> Entry? {
    let left = bytes.count &- position
    if left <= 0 { return nil }
    guard left >= 8 else { throw .brokenPayload }
    let key = EntryKey(code: uint32(at: position))
    let size = Int(uint32(at: position &+ 4))
    guard size <= left &- 8 else { throw .brokenPayload }
    let start = position &+ 8
    position = start &+ size
    return Entry(key: key, start: start, size: size)
  }

  @_noLocks @_noAllocation
  func uint8(at offset: Int) -> UInt8 {
    offset >= 0 && offset < bytes.count ? bytes[offset] : 0
  }

  @_noLocks @_noAllocation
  func uint16(at offset: Int) -> UInt16 {
    guard offset >= 0 && offset &+ 2 <= bytes.count else { return 0 }
    return UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
  }

  @_noLocks @_noAllocation
  func uint32(at offset: Int) -> UInt32 {
    guard offset >= 0 && offset &+ 4 <= bytes.count else { return 0 }
    return UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
  }

  @_noLocks @_noAllocation
  func uint64(at offset: Int) -> UInt64 {
    guard offset >= 0 && offset &+ 8 <= bytes.count else { return 0 }
    return UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  @_noLocks @_noAllocation
  func int64(at offset: Int) -> Int64 {
    Int64(bitPattern: uint64(at: offset))
  }

  @_noLocks @_noAllocation
  func endpointV4(at offset: Int) -> Endpoint {
    Endpoint(.v4(uint32(at: offset)), port: uint16(at: offset &+ 4))
  }

  /// An IPv6 address without a scope.
  @_noLocks @_noAllocation
  func endpointV6(at offset: Int) -> Endpoint {
    Endpoint(
      .v6(high: uint64(at: offset), low: uint64(at: offset &+ 8), scope: 0), port: uint16(at: offset &+ 16))
  }
}
