// SPDX-License-Identifier: GPL-2.0-or-later

// Turns Link's datagrams into values and back, and nothing else. It has no socket, no clock, no memory of
// earlier packets, and no heap: a decoder reads a borrowed buffer, an encoder fills a `Packet`.
//
// The invariant: every function returns for every input. For any bytes, decoding returns a value or throws a
// `DecodingFailure`. It never traps, never reads outside the buffer, and takes time bounded by the buffer's
// length. `LinkSession` judges the meaning of a value (an absurd tempo, a forged node).
//
// Start reading at `decodeDiscoveryHeader`, `decodeDiscovery`, `encodeAlive`, `encodeResponse` and
// `encodeByeBye`; for the measurement sockets at `decodeMeasurement`, `encodePing` and `encodePong`; for the
// audio sockets at `decodeAudio`, `AudioPacket` and `encodeAudioBuffer`.
//
// The formats are facts: link 1 (payloads), 2 (discovery), 4.1 (measurement); link-audio 2 (audio sockets), 5
// (audio).

/// Sizes and fixed bytes of the three protocols.
public enum Wire {
  /// The longest message, in bytes. Ableton's library sends shorter messages, and receives messages up to
  /// this length.
  public static var maximumMessageSize: Int { @_noLocks @_noAllocation get { 512 } }
  /// The number of bytes in the header of a discovery datagram: protocol, type, time to live, group, node id.
  public static var discoveryHeaderSize: Int { @_noLocks @_noAllocation get { 20 } }
  /// The number of bytes in the header of a measurement datagram: protocol, type.
  public static var measurementHeaderSize: Int { @_noLocks @_noAllocation get { 9 } }
  /// The most bytes of a ping's payload that are echoed: two entries, each of a header and a value of eight
  /// bytes.
  public static var maximumEchoSize: Int { @_noLocks @_noAllocation get { 32 } }
  /// The seconds for which a peer is kept after its last packet: the value that Ableton's library sends.
  public static var timeToLive: UInt8 { @_noLocks @_noAllocation get { 5 } }

  // The sizes of an audio socket's messages are facts: link-audio 2, 7.3.

  /// The longest message of an audio socket, in bytes.
  public static var maximumAudioMessageSize: Int { @_noLocks @_noAllocation get { 1200 } }
  /// The most bytes of an announcement's entries: Ableton's library assumes a header that is four bytes
  /// longer than the real one.
  static var announcementRoom: Int { @_noLocks @_noAllocation get { 1176 } }
  /// The most bytes of UTF-8 in the name of a peer or a channel.
  public static var maximumNameSize: Int { @_noLocks @_noAllocation get { 256 } }
  /// The most channels that are closed by one datagram.
  public static var maximumByes: Int { @_noLocks @_noAllocation get { 146 } }
  /// The most frames of a chunk. Longer chunks overrun buffers of other implementations.
  public static var maximumChunkFrames: Int { @_noLocks @_noAllocation get { 512 } }
  /// The bytes of audio that all implementations put into a datagram: 251 frames of one channel or 125 frames
  /// of two channels.
  public static var customaryAudioSize: Int { @_noLocks @_noAllocation get { 502 } }

  /// The first eight bytes of a discovery datagram: `_asdp_v` and version 1, with the first byte most
  /// significant.
  static var discoveryProtocol: UInt64 { @_noLocks @_noAllocation get { 0x5f61_7364_705f_7601 } }
  /// The first eight bytes of a measurement datagram: `_link_v` and version 1.
  static var measurementProtocol: UInt64 { @_noLocks @_noAllocation get { 0x5f6c_696e_6b5f_7601 } }
  /// The first eight bytes of an audio socket's datagram: `chnnlsv` and version 1.
  static var audioProtocol: UInt64 { @_noLocks @_noAllocation get { 0x6368_6e6e_6c73_7601 } }
}

/// The reason why a datagram was refused. The list is closed, so that each reason can have a counter.
public enum DecodingFailure: Error, Hashable, Sendable, BitwiseCopyable, CaseIterable {
  /// The datagram is too short for the header, or does not begin with the protocol's eight bytes.
  case notLink
  /// The datagram is longer than any message of the protocol.
  case tooLong
  /// A message type that this protocol version does not have.
  case unknownType
  /// A session group other than 0.
  case otherGroup
  /// Fewer than eight bytes for an entry's header, or an entry that is longer than the rest of the datagram.
  case brokenPayload
  /// A known entry whose value has the wrong size.
  case wrongEntrySize
  /// A timeline whose beats take no time or a negative time.
  case impossibleTempo
  /// A ping with more bytes than the protocol echoes.
  case pingTooLong
  /// The message lacks an entry that it needs.
  case missingEntry
  /// A list or a text that is longer or shorter than its entry.
  case brokenList
  /// Audio without a chunk, or with more chunks than its bytes can hold.
  case wrongChunkCount
  /// A chunk without frames, or with more frames than other implementations can take.
  case wrongChunkSize
  /// Audio that is not PCM of 16 bits.
  case unknownCodec
  /// Audio without a channel, or with more than two channels.
  case wrongChannelCount
  /// Audio at a rate that no sound card has.
  case wrongSampleRate
  /// The size of the audio does not match its frames and channels, or the datagram.
  case wrongAudioSize
}
