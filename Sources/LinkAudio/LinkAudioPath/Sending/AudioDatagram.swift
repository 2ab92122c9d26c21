// SPDX-License-Identifier: GPL-2.0-or-later

/// The contents of one datagram of a channel: its chunks, and the chunks' samples without gaps between them.
/// LinkWire turns the contents into bytes.
package struct AudioDatagram: Sendable, BitwiseCopyable {
  /// The most samples in a datagram. These are 502 bytes, as in the reference's datagrams, which every
  /// receiver accepts.
  package static var mostSamples: Int { 251 }
  /// The most chunks in a datagram. Short periods share a datagram, and each chunk adds a description of 26
  /// bytes.
  package static var mostChunks: Int { 8 }

  package struct Chunk: Sendable, BitwiseCopyable {
    /// The chunk's number. The chunks of a sink are numbered 1, 2, 3 and so on.
    package var number: UInt64
    package var frames: UInt16
    /// The session's beat at the chunk's first frame, in microbeats.
    package var begin: Int64
    package var microsPerBeat: Int64
  }

  package internal(set) var session: UInt64 = 0
  package internal(set) var sampleRate: UInt32 = 0
  package internal(set) var channels: UInt8 = 1
  package internal(set) var chunkCount: Int = 0
  package internal(set) var sampleCount: Int = 0
  package internal(set) var chunks = InlineArray<8, Chunk>(
    repeating: Chunk(number: 0, frames: 0, begin: 0, microsPerBeat: 0))
  /// The samples of all chunks, interleaved, in the host's byte order.
  package internal(set) var samples = InlineArray<251, Int16>(repeating: 0)

  init() {}

  /// Whether `count` more samples of a period fit into this datagram as a chunk of their own.
  func hasRoom(for count: Int, of period: SentPeriod) -> Bool {
    guard chunkCount > 0 else { return true }
    return session == period.session && sampleRate == period.sampleRate && channels == period.channels
      && chunkCount < Self.mostChunks && sampleCount + count <= Self.mostSamples
  }
}
