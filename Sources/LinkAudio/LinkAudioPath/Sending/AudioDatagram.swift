// SPDX-License-Identifier: GPL-2.0-or-later

/// The contents of one datagram of a channel: chunks, and their samples back to back. LinkWire makes its
/// bytes.
package struct AudioDatagram: Sendable, BitwiseCopyable {
  /// The size of the reference's messages, which every receiver accepts: 502 bytes of samples.
  package static var mostSamples: Int { 251 }
  /// A chunk costs 26 bytes; short periods share a datagram.
  package static var mostChunks: Int { 8 }

  package struct Chunk: Sendable, BitwiseCopyable {
    /// Counts up by one for each chunk of the sink, from 1.
    package var number: UInt64
    package var frames: UInt16
    /// In microbeats.
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
  /// Interleaved, in the host's byte order.
  package internal(set) var samples = InlineArray<251, Int16>(repeating: 0)

  init() {}

  /// Whether `count` more samples of a period fit, as a chunk of their own.
  func hasRoom(for count: Int, of period: SentPeriod) -> Bool {
    guard chunkCount > 0 else { return true }
    return session == period.session && sampleRate == period.sampleRate && channels == period.channels
      && chunkCount < Self.mostChunks && sampleCount + count <= Self.mostSamples
  }
}
