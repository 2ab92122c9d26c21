// SPDX-License-Identifier: GPL-2.0-or-later

// Link's datagrams: bytes to values, values to bytes, nothing else. No socket, no clock, no memory of earlier
// packets, no heap: a decoder reads a borrowed buffer, an encoder fills a `Packet`.
//
// The invariant: every function is total. Whatever the bytes are, decoding returns a value or throws a
// `DecodingFailure`; it never traps, never reads outside the buffer and takes time bounded by its length.
// What a value means (an absurd tempo, a forged node) is for `LinkSession` to judge.
//
// The way in: `decodeDiscoveryHeader`, `decodeDiscovery`, `encodeAlive`, `encodeResponse`, `encodeByeBye`,
// for the measurement sockets `decodeMeasurement`, `encodePing`, `encodePong`, and for the audio sockets `decodeAudio`,
// `AudioPacket` and `encodeAudioBuffer`.
//
// facts: link 1 (payloads), 2 (discovery), 4.1 (measurement); link-audio 2 (audio sockets), 5 (audio).

/// Sizes and fixed bytes of the three protocols.
public enum Wire {
  /// No message is longer; the reference encodes fewer than this many bytes and receives at most as many.
  public static var maximumMessageSize: Int { @_noLocks @_noAllocation get { 512 } }
  /// Protocol header, type, ttl, group, node.
  public static var discoveryHeaderSize: Int { @_noLocks @_noAllocation get { 20 } }
  /// Protocol header, type.
  public static var measurementHeaderSize: Int { @_noLocks @_noAllocation get { 9 } }
  /// A ping's payload is echoed only up to here: two entries of eight bytes.
  public static var maximumEchoSize: Int { @_noLocks @_noAllocation get { 32 } }
  /// Seconds a peer is remembered after its last word, as the reference sends it.
  public static var timeToLive: UInt8 { @_noLocks @_noAllocation get { 5 } }

  /// No message of an audio socket is longer (facts: link-audio 2).
  public static var maximumAudioMessageSize: Int { @_noLocks @_noAllocation get { 1200 } }
  /// Of these, what an announcement's entries may take: the reference counts four bytes more for the header than it has.
  static var announcementRoom: Int { @_noLocks @_noAllocation get { 1176 } }
  /// Bytes of UTF-8 in the name of a peer or a channel.
  public static var maximumNameSize: Int { @_noLocks @_noAllocation get { 256 } }
  /// Farewells of channels in one datagram.
  public static var maximumByes: Int { @_noLocks @_noAllocation get { 146 } }
  /// Longer chunks overrun buffers of others (facts: link-audio 7.3).
  public static var maximumChunkFrames: Int { @_noLocks @_noAllocation get { 512 } }
  /// Bytes of audio that everybody puts into a datagram: 251 frames of one channel or 125 of two.
  public static var customaryAudioSize: Int { @_noLocks @_noAllocation get { 502 } }

  /// `_asdp_v` and version 1, first byte most significant.
  static var discoveryProtocol: UInt64 { @_noLocks @_noAllocation get { 0x5f61_7364_705f_7601 } }
  /// `_link_v` and version 1.
  static var measurementProtocol: UInt64 { @_noLocks @_noAllocation get { 0x5f6c_696e_6b5f_7601 } }
  /// `chnnlsv` and version 1.
  static var audioProtocol: UInt64 { @_noLocks @_noAllocation get { 0x6368_6e6e_6c73_7601 } }
}

/// Why a datagram was refused. A closed list, so that a counter per reason is possible.
public enum DecodingFailure: Error, Hashable, Sendable, BitwiseCopyable, CaseIterable {
  /// Too short for the header, or not the protocol's first eight bytes.
  case notLink
  /// Longer than any message of the protocol.
  case tooLong
  /// A message type that this protocol version does not have.
  case unknownType
  /// A session group other than 0.
  case otherGroup
  /// Fewer than eight bytes where an entry's header should be, or an entry longer than what is left.
  case brokenPayload
  /// A known entry whose value has the wrong size.
  case wrongEntrySize
  /// A timeline whose beats would last no time or a negative one.
  case impossibleTempo
  /// A ping with more to echo than the protocol answers.
  case pingTooLong
  /// An entry is missing without which the message says nothing.
  case missingEntry
  /// A list or a text that is longer or shorter than its entry.
  case brokenList
  /// Audio without a chunk, or with more chunks than there are bytes.
  case wrongChunkCount
  /// A chunk of no frames, or of more than others can take.
  case wrongChunkSize
  /// Audio that is not PCM of 16 bits.
  case unknownCodec
  /// Audio of no channel, or of more than two.
  case wrongChannelCount
  /// Audio at a rate that no sound card has.
  case wrongSampleRate
  /// More or fewer bytes of audio than its frames and channels make, or than there are.
  case wrongAudioSize
}
