// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAudioPath
import LinkBeatMath
import TactusTestSupport
import Testing

struct SendingTests {
  private let grid = SessionGrid(session: 9, origin: 98_765_432.1, beatMicros: 495_868)

  private func period(
    _ frames: Int, channels: Int = 1, begin: Int64 = 0, rate: UInt32 = 48_000, session: UInt64 = 9
  ) -> SentPeriod {
    SentPeriod(
      session: session, begin: begin, end: begin + Int64(frames) * 42, microsPerBeat: 495_868,
      sampleRate: rate, frames: UInt16(frames), channels: UInt8(channels))
  }

  private func datagrams(
    of periods: [SentPeriod], chunker: inout Chunker, sample: (Int) -> Float = { _ in 0.25 }
  ) -> [AudioDatagram] {
    var found: [AudioDatagram] = []
    for period in periods {
      let samples = (0..<Int(period.frames) * Int(period.channels)).map(sample)
      samples.withUnsafeBufferPointer { chunker.add(period, samples: $0) { found.append(copy $0) } }
    }
    chunker.flush { found.append(copy $0) }
    return found
  }

  @Test(arguments: [-100.0, 0, 100], [16, 256, 1024, 8192])
  func `sent stamps are within a tenth of a frame, even after lost cycles`(
    ppm: Double, frames: Int
  ) {
    var sender = ExactSender(Card(rate: 48_000, ppm: ppm, start: 5e9), period: frames, channels: 2)
    var dice = Dice(seed: 3)
    var worst = 0.0
    for _ in 0..<40 {
      let first = sender.frame
      var frame = first
      for packet in sender.play({ _ in SIMD2(0, 0) }, grid: grid) {
        let error = grid.time(of: packet.chunk.begin) - sender.card.time(of: Double(frame))
        worst = max(worst, abs(error) / sender.card.frameMicros)
        frame += Int(packet.chunk.frames)
      }
      #expect(frame == first + frames)
      if Int.random(in: 0..<4, using: &dice) == 0 {
        sender.frame += frames * Int.random(in: 1...5, using: &dice)
      }
    }
    print("stamps at \(ppm) ppm, periods of \(frames): at most", rounded(worst), "frames off")
    #expect(worst <= 0.1)
  }

  @Test func `the stamp includes the input latency and the user's offset`() {
    let there = grid.stamp(ofFrame: 0, start: 1e9, frameMicros: 20.83, captureFrames: 0, offset: 0)
    let before = grid.stamp(ofFrame: 0, start: 1e9, frameMicros: 20.83, captureFrames: 480, offset: 0)
    let late = grid.stamp(ofFrame: 0, start: 1e9, frameMicros: 20.83, captureFrames: 0, offset: 5000)
    let inside = grid.stamp(ofFrame: 480, start: 1e9, frameMicros: 20.83, captureFrames: 480, offset: 0)
    // 480 frames are 9998.4 µs or 20,163.4 microbeats; 5 ms are 10,083.3 microbeats.
    #expect((20_163...20_164).contains(there - before))
    #expect((10_083...10_084).contains(late - there))
    #expect(inside == there)
  }

  @Test(arguments: 1...2, [1, 16, 64, 125, 126, 250, 251, 252, 256, 1000, 1024, 8192])
  func `a period is cut evenly into datagrams with rising chunk numbers`(
    channels: Int, frames: Int
  ) {
    var chunker = Chunker(seed: 5)
    let found = datagrams(of: [period(frames, channels: channels)], chunker: &chunker)
    let chunks = found.flatMap { datagram in (0..<datagram.chunkCount).map { datagram.chunks[$0] } }
    #expect(chunks.map(\.number) == (1...chunks.count).map { UInt64($0) })
    #expect(chunks.map { Int($0.frames) }.reduce(0, +) == frames)
    let sizes = chunks.map { Int($0.frames) }
    #expect(sizes.max()! - sizes.min()! <= 1)
    #expect(sizes.max()! <= (channels == 1 ? 251 : 125))
    #expect(found.allSatisfy { $0.sampleCount <= 251 && $0.chunkCount <= 8 })
    #expect(found.map { $0.sampleCount }.reduce(0, +) == frames * channels)
    // The period must be cut into as few datagrams as possible.
    #expect(found.count == (frames + (channels == 1 ? 250 : 124)) / (channels == 1 ? 251 : 125))
  }

  @Test func `short periods share a datagram and keep their own stamps`() {
    var chunker = Chunker(seed: 5)
    let found = datagrams(of: (0..<20).map { period(16, begin: Int64($0) * 1000) }, chunker: &chunker)
    #expect(found.map(\.chunkCount) == [8, 8, 4])
    #expect(found[1].chunks[0].begin == 8000 && found[1].chunks[7].begin == 15_000)
    #expect(found.allSatisfy { $0.sampleCount == $0.chunkCount * 16 })
  }

  @Test func `audio of different sessions or formats shares no datagram`() {
    var chunker = Chunker(seed: 5)
    let found = datagrams(
      of: [
        period(16), period(16, rate: 44_100), period(16, channels: 2, rate: 44_100),
        period(16, channels: 2, rate: 44_100, session: 10),
      ], chunker: &chunker)
    #expect(found.map(\.chunkCount) == [1, 1, 1, 1])
    #expect(found.map(\.sampleRate) == [48_000, 44_100, 44_100, 44_100])
    #expect(found.map(\.session) == [9, 9, 9, 10])
    #expect(found.map { $0.chunks[0].number } == [1, 2, 3, 4])
  }

  @Test func `an input period with invalid values is not sent`() {
    var chunker = Chunker(seed: 5)
    let found = datagrams(
      of: [period(0), period(16, channels: 3), period(16, channels: 0)], chunker: &chunker)
    #expect(found.isEmpty)
    let samples: [Float] = [1, 2]
    samples.withUnsafeBufferPointer { chunker.add(period(16), samples: $0) { _ in Issue.record("sent") } }
    chunker.flush { _ in Issue.record("sent") }
  }

  @Test func `sent samples are limited to 16 bits, and NaN becomes silence`() {
    var chunker = Chunker(seed: 5)
    let values: [Float] = [1, 2, .infinity, -1, -2, -.infinity, .nan, 0]
    let found = datagrams(of: [period(248)], chunker: &chunker) { values[$0 % 8] }
    for index in 0..<248 {
      let sample = Int(found[0].samples[index])
      switch index % 8 {
      case 0...2: #expect(sample >= 32766)
      case 3...5: #expect(sample <= -32767)
      default: #expect(abs(sample) <= 1)
      }
    }
  }

  @Test func `digital silence is sent without dither`() {
    var chunker = Chunker(seed: 5)
    let found = datagrams(of: [period(251)], chunker: &chunker) { _ in 0 }
    #expect((0..<251).allSatisfy { found[0].samples[$0] == 0 })
  }

  @Test func `dither turns the rounding of a quiet tone into an even hiss`() {
    var chunker = Chunker(seed: 5)
    let level = 1 / 3.0 / 32768
    let found = datagrams(of: (0..<200).map { _ in period(250) }, chunker: &chunker) {
      Float(turn(Double($0) / 50).sine * level)
    }
    let samples = found.flatMap { datagram in
      (0..<datagram.sampleCount).map { Float(datagram.samples[$0]) / 32768 }
    }
    let tone = Tone(fittedTo: samples[...], cycles: 1 / 50)
    let hiss = tone.rest(of: samples[...]).squareRoot() * 32768
    let heard = (2 * tone.power).squareRoot() * 32768
    print("a tone of 1/3 bit comes as", heard, "bits, in a hiss of", hiss)
    #expect(abs(heard - 1 / 3) < 0.02)
    // The noise is the sum of a rounding error and two uniform random numbers, each with a variance of 1/12.
    // So its standard deviation is the root of 3/12, which is 0.5.
    #expect(abs(hiss - 0.5) < 0.01)
    var again = Chunker(seed: 5)
    let same = datagrams(of: [period(250)], chunker: &again) { Float(turn(Double($0) / 50).sine * level) }
    #expect((0..<250).allSatisfy { same[0].samples[$0] == found[0].samples[$0] })
  }
}
