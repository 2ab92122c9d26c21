// SPDX-License-Identifier: GPL-2.0-or-later

/// One sink's stream: stamped periods go in, datagrams come out. Off the audio thread. [network]
///
/// Every period begins a chunk of its own with the period's own stamp, so a stamp is never further from the truth than
/// one rounding. A long period is cut evenly: of two datagrams with nearly the same length neither is lost more easily.
/// Short periods share a datagram, as far as they are there when the queue is emptied: `flush` then.
package struct Chunker: Sendable {
  private var number: UInt64 = 0
  private var dither: Dither
  private var datagram = AudioDatagram()

  package init(seed: UInt64) { dither = Dither(seed: seed) }

  /// Takes a period and its interleaved samples. Datagrams that are full go to `send`; a period that is none (no frames,
  /// three channels, too few samples) is left out.
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

  /// Sends what waits for more: there is none for now.
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
    // Silence stays silence: dither would be all that is heard of it.
    var isSilent = true
    for index in part where samples[index] != 0 { isSilent = false }
    for index in part {
      datagram.samples[datagram.sampleCount] = isSilent ? 0 : dither.whole(samples[index])
      datagram.sampleCount += 1
    }
  }
}
