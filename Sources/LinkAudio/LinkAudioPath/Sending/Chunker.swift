// SPDX-License-Identifier: GPL-2.0-or-later

/// Turns the stamped periods of one sink into datagrams. Runs on the network thread, not on the audio thread.
/// [network]
///
/// Every period begins a chunk with the period's own stamp, so that a stamp is never wrong by more than one
/// rounding. A long period is cut into nearly equal pieces. Short periods share a datagram. When no more
/// periods wait, call `flush`.
package struct Chunker: Sendable {
  private var number: UInt64 = 0
  private var dither: Dither
  private var datagram = AudioDatagram()

  package init(seed: UInt64) { dither = Dither(seed: seed) }

  /// Takes a period and its interleaved samples, and passes full datagrams to `send`. Ignores an invalid
  /// period (no frames, three channels, too few samples).
  package mutating func add(
    _ period: SentPeriod, samples: UnsafeBufferPointer<Float>, send: (borrowing AudioDatagram) -> Void
  ) {
    let channels = Int(period.channels)
    let frames = Int(period.frames)
    guard channels == 1 || channels == 2, frames > 0, samples.count >= frames * channels else { return }
    let most = AudioDatagram.mostSamples / channels
    let pieces = (frames + most - 1) / most
    for piece in 0..<pieces {
      let first = frames * piece / pieces
      let end = frames * (piece + 1) / pieces
      if !datagram.hasRoom(for: (end - first) * channels, of: period) { flush(send: send) }
      append(period, first..<end, samples)
    }
  }

  /// Passes the datagram that is not full yet to `send`. Call this function when no more periods wait.
  package mutating func flush(send: (borrowing AudioDatagram) -> Void) {
    guard datagram.chunkCount > 0 else { return }
    send(datagram)
    datagram.chunkCount = 0
    datagram.sampleCount = 0
  }

  private mutating func append(
    _ period: SentPeriod, _ range: Range<Int>, _ samples: UnsafeBufferPointer<Float>
  ) {
    number &+= 1
    datagram.session = period.session
    datagram.sampleRate = period.sampleRate
    datagram.channels = period.channels
    datagram.chunks[datagram.chunkCount] = AudioDatagram.Chunk(
      number: number, frames: UInt16(range.count), begin: period.begin(atFrame: range.lowerBound),
      microsPerBeat: period.microsPerBeat)
    datagram.chunkCount += 1
    let channels = Int(period.channels)
    let part = range.lowerBound * channels..<range.upperBound * channels
    // Silence gets no dither, because a listener would hear the dither alone.
    var isSilent = true
    for index in part where samples[index] != 0 { isSilent = false }
    for index in part {
      datagram.samples[datagram.sampleCount] = isSilent ? 0 : dither.whole(samples[index])
      datagram.sampleCount += 1
    }
  }
}
