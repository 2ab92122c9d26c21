// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath

/// The properties that all chunks of a datagram have in common.
public struct AudioFormat: Hashable, Sendable, BitwiseCopyable {
  /// The channel of the sender from which the audio comes.
  public var channel: ChannelID
  /// The session whose beats are in the chunks.
  public var session: SessionID
  /// Frames per second, from `slowest` to `fastest`.
  public var sampleRate: Int
  /// The number of audio channels, 1 or 2; the samples of a frame are adjacent.
  public var channelCount: Int

  /// Makes a format, unchecked: `encodeAudioBuffer` refuses a format that receivers refuse.
  @_noLocks @_noAllocation
  public init(channel: ChannelID, session: SessionID, sampleRate: Int, channelCount: Int) {
    self.channel = channel
    self.session = session
    self.sampleRate = sampleRate
    self.channelCount = channelCount
  }

  /// The lowest accepted rate, in frames per second; no sound card is outside these limits.
  public static var slowest: Int { @_noLocks @_noAllocation get { 8_000 } }
  /// The highest accepted rate, in frames per second.
  public static var fastest: Int { @_noLocks @_noAllocation get { 384_000 } }
}

// The layout of audio in a datagram is facts: link-audio 5.

/// A datagram of audio, read in place: a view of the decoded bytes, valid only while those bytes exist.
public struct AudioBuffer: BitwiseCopyable {
  /// The format; decoding has checked its limits.
  public let format: AudioFormat
  /// The number of chunks, at least 1.
  public let chunkCount: Int
  /// The number of frames of all chunks together.
  public let frameCount: Int
  private let reader: Reader

  static var codec: UInt8 { @_noLocks @_noAllocation get { 1 } }
  /// A piece of audio without a gap: some frames, and the beat of the first frame.
  public struct Chunk: Hashable, Sendable, BitwiseCopyable {
    /// The number of the chunk. The sender counts its chunks from 1 on.
    public var number: UInt64
    /// The number of frames, 1 to `Wire.maximumChunkFrames`; each frame has a sample of every channel.
    public var frames: Int
    /// The session's beat of the first frame.
    public var begin: Beats
    /// The tempo from the first frame on. A tempo of 0 is neither decoded nor encoded.
    public var tempo: Tempo

    /// Makes a chunk, unchecked: `encodeAudioBuffer` refuses a chunk that receivers refuse.
    @_noLocks @_noAllocation
    public init(number: UInt64, frames: Int, begin: Beats, tempo: Tempo) {
      self.number = number
      self.frames = frames
      self.begin = begin
      self.tempo = tempo
    }
  }

  /// The number of bytes before the samples in a datagram with this number of chunks.
  @_noLocks @_noAllocation
  public static func headSize(chunks: Int) -> Int { frameSize &+ chunkSize &* chunks }

  /// The number of bytes without chunks and samples: header, two ids, number of chunks, codec, rate,
  /// channels, and size of the samples.
  private static var frameSize: Int { @_noLocks @_noAllocation get { 48 } }
  private static var chunkSize: Int { @_noLocks @_noAllocation get { 26 } }
  private static var firstChunk: Int { @_noLocks @_noAllocation get { 40 } }

  /// Decodes the part of a datagram after its header, which was read before.
  @_noLocks @_noAllocation
  init(_ reader: Reader) throws(DecodingFailure) {
    let size = reader.bytes.count
    guard size >= AudioBuffer.frameSize else { throw .brokenPayload }
    chunkCount = Int(reader.uint32(at: 36))
    guard chunkCount >= 1, chunkCount <= (size &- AudioBuffer.frameSize) / AudioBuffer.chunkSize
    else { throw .wrongChunkCount }
    self.reader = reader
    let after = AudioBuffer.firstChunk &+ AudioBuffer.chunkSize &* chunkCount
    format = AudioFormat(
      channel: NodeID(rawValue: reader.uint64(at: 20)), session: NodeID(rawValue: reader.uint64(at: 28)),
      sampleRate: Int(reader.uint32(at: after &+ 1)), channelCount: Int(reader.uint8(at: after &+ 5)))
    guard reader.uint8(at: after) == AudioBuffer.codec else { throw .unknownCodec }
    guard format.sampleRate >= AudioFormat.slowest, format.sampleRate <= AudioFormat.fastest
    else { throw .wrongSampleRate }
    guard format.channelCount == 1 || format.channelCount == 2 else { throw .wrongChannelCount }
    var frames = 0
    var index = 0
    while index < chunkCount {
      let start = AudioBuffer.firstChunk &+ AudioBuffer.chunkSize &* index
      let count = Int(reader.uint16(at: start &+ 8))
      guard count >= 1, count <= Wire.maximumChunkFrames else { throw .wrongChunkSize }
      guard reader.int64(at: start &+ 18) > 0 else { throw .impossibleTempo }
      frames &+= count
      index &+= 1
    }
    frameCount = frames
    let audioSize = Int(reader.uint16(at: after &+ 6))
    guard audioSize == frames &* format.channelCount &* 2, size &- after &- 8 == audioSize
    else { throw .wrongAudioSize }
  }

  /// The chunk at `index`, or the last chunk if `index` is too large. Its samples come after the samples of
  /// all chunks before it.
  @_noLocks @_noAllocation
  public func chunk(at index: Int) -> Chunk {
    let place = Swift.max(0, Swift.min(index, chunkCount &- 1))
    let start = AudioBuffer.firstChunk &+ AudioBuffer.chunkSize &* place
    return Chunk(
      number: reader.uint64(at: start), frames: Int(reader.uint16(at: start &+ 8)),
      begin: Beats(millionths: reader.int64(at: start &+ 10)),
      tempo: Tempo(microsPerBeat: reader.int64(at: start &+ 18)))
  }

  /// All samples, the most significant byte first.
  public var samples: UnsafeRawBufferPointer {
    @_noLocks @_noAllocation get {
      let start = AudioBuffer.headSize(chunks: chunkCount)
      return UnsafeRawBufferPointer(rebasing: reader.bytes[start...])
    }
  }

  /// The sample at `index`; 0 if there is none.
  @_noLocks @_noAllocation
  public func sample(at index: Int) -> Int16 {
    guard index >= 0 && index < frameCount &* format.channelCount else { return 0 }
    let start = AudioBuffer.headSize(chunks: chunkCount)
    return Int16(bitPattern: reader.uint16(at: start &+ 2 &* index))
  }
}

/// Writes a datagram of audio without its samples, and returns the memory for the samples. The samples begin
/// after `AudioBuffer.headSize` bytes and end the datagram. Each sample has its most significant byte first.
/// Returns nil if a receiver would refuse the datagram, or if there is no room.
@_noLocks @_noAllocation
public func encodeAudioBuffer(
  _ format: AudioFormat, from node: NodeID, chunks: UnsafeBufferPointer<AudioBuffer.Chunk>,
  into datagram: UnsafeMutableRawBufferPointer
) -> UnsafeMutableRawBufferPointer? {
  var frames = 0
  var index = 0
  while index < chunks.count {
    let count = chunks[index].frames
    guard count >= 1, count <= Wire.maximumChunkFrames, chunks[index].tempo.microsPerBeat > 0 else {
      return nil
    }
    frames &+= count
    index &+= 1
  }
  let start = AudioBuffer.headSize(chunks: chunks.count)
  let size = frames &* format.channelCount &* 2
  guard chunks.count >= 1, format.channelCount == 1 || format.channelCount == 2,
    format.sampleRate >= AudioFormat.slowest, format.sampleRate <= AudioFormat.fastest,
    start &+ size <= Swift.min(datagram.count, Wire.maximumAudioMessageSize)
  else { return nil }
  var head = AudioPacket(.audio, ttl: 0, from: node)
  head.append(format.channel.rawValue)
  head.append(format.session.rawValue)
  head.append(UInt64(truncatingIfNeeded: chunks.count), size: 4)
  index = 0
  while index < chunks.count {
    let chunk = chunks[index]
    head.append(chunk.number)
    head.append(UInt64(truncatingIfNeeded: chunk.frames), size: 2)
    head.append(UInt64(bitPattern: chunk.begin.millionths))
    head.append(UInt64(bitPattern: chunk.tempo.microsPerBeat))
    index &+= 1
  }
  head.append(AudioBuffer.codec)
  head.append(UInt64(truncatingIfNeeded: format.sampleRate), size: 4)
  head.append(UInt8(truncatingIfNeeded: format.channelCount))
  head.append(UInt64(truncatingIfNeeded: size), size: 2)
  head.copy(to: datagram)
  return UnsafeMutableRawBufferPointer(rebasing: datagram[start..<(start &+ size)])
}
