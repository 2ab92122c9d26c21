// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkAudioPath
import LinkBeatMath
import TactusTestSupport

/// A chunk on its way, and the time at which it leaves.
struct Packet {
  var chunk: AudioChunk
  var samples: [Float]
  var leaves: Double
}

/// A sound card: the time of each frame on the world's clock, in microseconds.
struct Card {
  var rate: Double
  var ppm = 0.0
  /// The time of frame 0.
  var start = 0.0

  var frameMicros: Double { 1e6 / rate / (1 + ppm * 1e-6) }
  func time(of frame: Double) -> Double { start + frame * frameMicros }
}

/// A program that sends its input, period by period.
protocol Sender {
  var card: Card { get }
  var period: Int { get }
  /// Plays the next period: `sound` gives the input at a time, `grid` the session's beats.
  mutating func play(_ sound: (Double) -> SIMD2<Float>, grid: SessionGrid) -> [Packet]
}

/// A sender like tactus: each period has a stamp from the sender's own times.
struct ExactSender: Sender {
  var card: Card
  var period = 256
  var channels = 1
  /// The error of the sender's clock, compared with the session's, in microseconds. It changes at each
  /// measurement.
  var clockError = 0.0
  /// The error of each period's time in microseconds: the standard deviation of a normal distribution.
  var noise = 0.0
  /// The number of the next frame.
  var frame = 0
  private var chunker = Chunker(seed: 1)
  private var dice = Dice(seed: 3)

  init(_ card: Card, period: Int = 256, channels: Int = 1) {
    self.card = card
    self.period = period
    self.channels = channels
  }

  /// Makes the sender continue as if it had sent this number of chunks before.
  mutating func skip(_ chunks: Int) {
    let period = SentPeriod(
      session: 1, begin: 0, end: 0, microsPerBeat: 1, sampleRate: 48_000, frames: 1, channels: 1)
    for _ in 0..<chunks { [Float(0)].withUnsafeBufferPointer { chunker.add(period, samples: $0) { _ in } } }
    chunker.flush { _ in }
  }

  mutating func play(_ sound: (Double) -> SIMD2<Float>, grid: SessionGrid) -> [Packet] {
    var samples: [Float] = []
    samples.reserveCapacity(period * channels)
    for index in 0..<period {
      let value = sound(card.time(of: Double(frame + index)))
      samples.append(value.x)
      if channels == 2 { samples.append(value.y) }
    }
    let start = card.time(of: Double(frame)) + clockError + noise * dice.normal()
    let part = SentPeriod(
      session: grid.session,
      begin: grid.stamp(
        ofFrame: 0, start: start, frameMicros: card.frameMicros, captureFrames: 0, offset: 0),
      end: grid.stamp(
        ofFrame: period, start: start, frameMicros: card.frameMicros, captureFrames: 0, offset: 0),
      microsPerBeat: Int64(grid.beatMicros), sampleRate: UInt32(card.rate), frames: UInt16(period),
      channels: UInt8(channels))
    frame += period
    let leaves = card.time(of: Double(frame)) + 200
    var packets: [Packet] = []
    samples.withUnsafeBufferPointer { samples in
      chunker.add(part, samples: samples) { packets += $0.packets(leaves: leaves) }
    }
    chunker.flush { packets += $0.packets(leaves: leaves) }
    return packets
  }
}

extension Dice {
  /// A normally distributed number with a deviation of 1.
  mutating func normal() -> Double {
    let radius = (-2 * log(Double.random(in: 0x1p-53..<1, using: &self))).squareRoot()
    return radius * turn(Double.random(in: 0..<1, using: &self)).cosine
  }
}

extension AudioDatagram {
  func packets(leaves: Double) -> [Packet] {
    var found: [Packet] = []
    var next = 0
    for index in 0..<chunkCount {
      let chunk = chunks[index]
      let count = Int(chunk.frames) * Int(channels)
      found.append(
        Packet(
          chunk: AudioChunk(
            session: session, number: chunk.number, begin: chunk.begin, microsPerBeat: chunk.microsPerBeat,
            arrival: 0, sampleRate: sampleRate, frames: chunk.frames, channels: channels),
          samples: (next..<next + count).map { Float(samples[$0]) / 32768 }, leaves: leaves))
      next += count
    }
    return found
  }
}

/// A sender like the reference. It has a cache of 251 or 125 frames, which is never emptied. It measures a
/// stamp only if the cache is empty at the start of a buffer. All other stamps are computed from the last
/// measured stamp at the nominal rate, and each is rounded.
struct ReferenceSender: Sender {
  var card: Card
  var period = 256
  var channels = 1
  /// The error of each buffer's time in microseconds: the standard deviation of a normal distribution.
  var noise = 0.0
  private var dice = Dice(seed: 4)
  var frame = 0
  var number: UInt64 = 0
  private var cache: [Float] = []
  private var begin: Int64 = 0
  private var beatMicros = 500_000.0
  private var session: UInt64 = 0

  init(_ card: Card, period: Int = 256, channels: Int = 1) {
    self.card = card
    self.period = period
    self.channels = channels
  }

  /// Loses a cycle: the card's frames go on, but the stream has no samples for them.
  mutating func loseCycle() { frame += period }

  mutating func play(_ sound: (Double) -> SIMD2<Float>, grid: SessionGrid) -> [Packet] {
    let most = channels == 1 ? 251 : 125
    var packets: [Packet] = []
    let stamp = grid.microbeats(at: card.time(of: Double(frame)) + noise * dice.normal())
    let leaves = card.time(of: Double(frame + period)) + 500
    if cache.isEmpty || grid.beatMicros != beatMicros && stamp != begin + cached {
      if !cache.isEmpty { packets.append(emit(leaves: leaves)) }
      begin = stamp
      beatMicros = grid.beatMicros
      session = grid.session
    }
    for index in 0..<period {
      let value = sound(card.time(of: Double(frame + index)))
      cache.append(value.x)
      if channels == 2 { cache.append(value.y) }
      if cache.count == most * channels {
        packets.append(emit(leaves: leaves))
        cache.removeAll(keepingCapacity: true)
      }
    }
    frame += period
    return packets
  }

  /// The duration of the cached frames, in microbeats.
  private var cached: Int64 {
    Int64((Double(cache.count / channels) / card.rate * 1e12 / beatMicros).rounded())
  }

  private mutating func emit(leaves: Double) -> Packet {
    number += 1
    let packet = Packet(
      chunk: AudioChunk(
        session: session, number: number, begin: begin, microsPerBeat: Int64(beatMicros), arrival: 0,
        sampleRate: UInt32(card.rate), frames: UInt16(cache.count / channels), channels: UInt8(channels)),
      samples: cache.map { ($0 * 32768).rounded() / 32768 }, leaves: leaves)
    begin += cached
    cache.removeAll(keepingCapacity: true)
    return packet
  }
}
