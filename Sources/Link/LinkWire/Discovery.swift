// SPDX-License-Identifier: GPL-2.0-or-later
@_exported public import LinkAddresses
import LinkBeatMath

/// Decodes the header alone. The rest may still be broken.
@_noLocks @_noAllocation
public func decodeDiscoveryHeader(
  _ bytes: UnsafeRawBufferPointer
) throws(DecodingFailure) -> DiscoveryHeader {
  let reader = Reader(bytes, from: 0)
  guard bytes.count >= Wire.discoveryHeaderSize, reader.uint64(at: 0) == Wire.discoveryProtocol
  else { throw .notLink }
  guard bytes.count <= Wire.maximumMessageSize else { throw .tooLong }
  guard let kind = DiscoveryHeader.Kind(code: reader.uint8(at: 8)) else { throw .unknownType }
  guard reader.uint16(at: 10) == 0 else { throw .otherGroup }
  return DiscoveryHeader(
    kind: kind, timeToLive: reader.uint8(at: 9), node: NodeID(rawValue: reader.uint64(at: 12)))
}

/// Decodes the whole datagram. A ByeBye's payload, which should be empty, is ignored.
@_noLocks @_noAllocation
public func decodeDiscovery(_ bytes: UnsafeRawBufferPointer) throws(DecodingFailure) -> DiscoveryMessage {
  let header = try decodeDiscoveryHeader(bytes)
  switch header.kind {
  case .byeBye: return .byeBye(header.node)
  case .alive: return .alive(try decodePeerState(bytes, node: header.node), ttl: header.timeToLive)
  case .response: return .response(try decodePeerState(bytes, node: header.node), ttl: header.timeToLive)
  }
}

@_noLocks @_noAllocation
private func decodePeerState(
  _ bytes: UnsafeRawBufferPointer, node: NodeID
) throws(DecodingFailure) -> PeerState {
  var reader = Reader(bytes, from: Wire.discoveryHeaderSize)
  var state = PeerState(
    node: node, session: NodeID(rawValue: 0),
    timeline: Timeline(tempo: Tempo(0), beatOrigin: .zero, timeOrigin: .zero),
    startStop: SessionStartStop(isPlaying: false, beats: .zero, timestamp: .zero), measurement: nil)
  while let entry = try reader.nextEntry() {
    try read(entry, of: reader, into: &state)
  }
  return state
}

/// Reads an entry into the state. The value of a known entry must fill the entry exactly. If a key is
/// repeated, the last entry is used.
@_noLocks @_noAllocation
private func read(_ entry: Entry, of reader: Reader, into state: inout PeerState) throws(DecodingFailure) {
  let start = entry.start
  switch entry.key {
  case .timeline:
    guard entry.size == 24 else { throw .wrongEntrySize }
    let microsPerBeat = reader.int64(at: start)
    guard microsPerBeat > 0 else { throw .impossibleTempo }
    state.timeline = Timeline(
      tempo: Tempo(microsPerBeat: microsPerBeat), beatOrigin: Beats(millionths: reader.int64(at: start &+ 8)),
      timeOrigin: Micros(reader.int64(at: start &+ 16)))
  case .session:
    state.session = try readSession(entry, of: reader)
  case .startStop:
    guard entry.size == 17 else { throw .wrongEntrySize }
    state.startStop = SessionStartStop(
      isPlaying: reader.uint8(at: start) != 0, beats: Beats(millionths: reader.int64(at: start &+ 1)),
      timestamp: Micros(reader.int64(at: start &+ 9)))
  case .measurementV4:
    guard entry.size == 6 else { throw .wrongEntrySize }
    state.measurement = reader.endpointV4(at: start)
  case .measurementV6:
    guard entry.size == 18 else { throw .wrongEntrySize }
    state.measurement = reader.endpointV6(at: start)
  case .audioV4:
    guard entry.size == 6 else { throw .wrongEntrySize }
    state.audio = reader.endpointV4(at: start)
  case .audioV6:
    guard entry.size == 18 else { throw .wrongEntrySize }
    state.audio = reader.endpointV6(at: start)
  case .clock:
    // Another program may use our key for another entry, of another size.
    guard entry.size == 14 else { return }
    state.clock = ClockOrigin(
      root: NodeID(rawValue: reader.uint64(at: start)), steps: reader.uint8(at: start &+ 8),
      jumps: reader.uint32(at: start &+ 9), isInferred: reader.uint8(at: start &+ 13) != 0)
  case .song:
    // Another program may use our key for another entry, of another size.
    guard entry.size == 26 else { return }
    let line = SongLine(
      sessionBeat: Beats(millionths: reader.int64(at: start &+ 8)),
      songBeat: Beats(millionths: reader.int64(at: start &+ 16)), beatsPerBar: reader.uint8(at: start &+ 24),
      beatType: reader.uint8(at: start &+ 25))
    state.song = SessionSong(line: line, timestamp: Micros(reader.int64(at: start)))
  case .hostTime, .ghostTime, .previousGhostTime, .relayTime, .peerName, .channels, .channelByes, .channel,
    nil:
    return
  }
}

/// Ableton's library accepts a short session id and fills it with zeros (facts: link 1 rule 8), but no id
/// that is too long.
@_noLocks @_noAllocation
func readSession(_ entry: Entry, of reader: Reader) throws(DecodingFailure) -> SessionID {
  guard entry.size <= 8 else { throw .wrongEntrySize }
  var value: UInt64 = 0
  var index = 0
  while index < 8 {
    value = value << 8 | (index < entry.size ? UInt64(reader.uint8(at: entry.start &+ index)) : 0)
    index &+= 1
  }
  return NodeID(rawValue: value)
}

/// The Alive of a peer: a datagram to the multicast group, with the peer's state.
@_noLocks @_noAllocation
public func encodeAlive(_ state: PeerState, ttl: UInt8 = Wire.timeToLive) -> Packet {
  encode(state, kind: .alive, ttl: ttl)
}

/// The Response to an Alive: a datagram to the sender of the Alive, with a peer's state.
@_noLocks @_noAllocation
public func encodeResponse(_ state: PeerState, ttl: UInt8 = Wire.timeToLive) -> Packet {
  encode(state, kind: .response, ttl: ttl)
}

/// The ByeBye of a peer that leaves: a datagram to the multicast group.
@_noLocks @_noAllocation
public func encodeByeBye(_ node: NodeID) -> Packet {
  var packet = Packet()
  packet.append(header: .byeBye, ttl: 0, node: node)
  return packet
}

/// Encodes a message that `decodeDiscovery` returned.
@_noLocks @_noAllocation
public func encode(_ message: DiscoveryMessage) -> Packet {
  switch message {
  case .alive(let state, let ttl): encodeAlive(state, ttl: ttl)
  case .response(let state, let ttl): encodeResponse(state, ttl: ttl)
  case .byeBye(let node): encodeByeBye(node)
  }
}

@_noLocks @_noAllocation
func encode(_ state: PeerState, kind: DiscoveryHeader.Kind, ttl: UInt8) -> Packet {
  var packet = Packet()
  packet.append(header: kind, ttl: ttl, node: state.node)
  packet.append(key: .timeline, size: 24)
  packet.append(state.timeline.tempo.microsPerBeat)
  packet.append(state.timeline.beatOrigin.millionths)
  packet.append(state.timeline.timeOrigin.count)
  packet.append(key: .session, size: 8)
  packet.append(state.session.rawValue)
  packet.append(key: .startStop, size: 17)
  packet.append(UInt8(state.startStop.isPlaying ? 1 : 0))
  packet.append(state.startStop.beats.millionths)
  packet.append(state.startStop.timestamp.count)
  if let endpoint = state.measurement {
    packet.append(endpoint, v4: .measurementV4, v6: .measurementV6)
  }
  if let endpoint = state.audio {
    packet.append(endpoint, v4: .audioV4, v6: .audioV6)
  }
  if let clock = state.clock {
    packet.append(key: .clock, size: 14)
    packet.append(clock.root.rawValue)
    packet.append(clock.steps)
    packet.append(clock.jumps)
    packet.append(UInt8(clock.isInferred ? 1 : 0))
  }
  if let song = state.song {
    packet.append(key: .song, size: 26)
    packet.append(song.timestamp.count)
    packet.append(song.line.sessionBeat.millionths)
    packet.append(song.line.songBeat.millionths)
    packet.append(song.line.beatsPerBar)
    packet.append(song.line.beatType)
  }
  return packet
}

extension Packet {
  @_noLocks @_noAllocation
  fileprivate mutating func append(header kind: DiscoveryHeader.Kind, ttl: UInt8, node: NodeID) {
    append(Wire.discoveryProtocol)
    append(kind.code)
    append(ttl)
    append(0 as UInt16)
    append(node.rawValue)
  }

  @_noLocks @_noAllocation
  mutating func append(key: EntryKey, size: UInt32) {
    append(key.code)
    append(size)
  }

  @_noLocks @_noAllocation
  fileprivate mutating func append(_ endpoint: Endpoint, v4: EntryKey, v6: EntryKey) {
    switch endpoint.address {
    case .v4(let bits):
      append(key: v4, size: 6)
      append(bits)
    case .v6(let high, let low, _):
      append(key: v6, size: 18)
      append(high)
      append(low)
    }
    append(endpoint.port)
  }
}

extension Endpoint {
  /// The UDP port of the discovery group.
  public static let discoveryPort: UInt16 = 20808
  /// The IPv4 multicast group 224.76.78.75, to which every peer announces itself.
  public static let discoveryGroupV4 = Endpoint(.v4(0xe04c_4e4b), port: discoveryPort)
  /// The IPv6 multicast group ff12::8080. It needs the scope of the interface that sends.
  public static let discoveryGroupV6 = Endpoint(
    .v6(high: 0xff12_0000_0000_0000, low: 0x8080, scope: 0), port: discoveryPort)

  /// The discovery group for a gateway with this address.
  public static func discoveryGroup(for gateway: Address) -> Endpoint {
    switch gateway {
    case .v4: discoveryGroupV4
    case .v6(_, _, let scope):
      Endpoint(discoveryGroupV6.address.scoped(scope), port: discoveryPort)
    }
  }
}
