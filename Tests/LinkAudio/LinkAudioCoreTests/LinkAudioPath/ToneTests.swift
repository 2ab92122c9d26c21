// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAudioPath
import TactusTestSupport
import Testing

/// Tones that are sent at one sample rate and played at another. They are sent as floats, so that only the
/// interpolator adds noise.
struct ToneTests {
  private func recording(_ hertz: Double, from rate: Double, to output: Double, amplitude: Double = 0.9)
    -> Recording
  {
    let world = StreamWorld(FloatSender(Card(rate: rate, ppm: 30)), output: Card(rate: output, start: 321.7))
    world.delay = .fixed(40_000)
    world.sound = { time in
      let level = Float(turn(time * hertz / 1e6).sine * amplitude)
      return SIMD2(level, level)
    }
    let recording = Recording()
    world.listen = recording.listen
    world.play(seconds: 6)
    recording.isOn = true
    world.play(seconds: 0.25)
    return recording
  }

  @Test(
    arguments: campaign([
      (44_100.0, 48_000.0), (48_000, 44_100), (48_000, 48_000), (96_000, 48_000),
    ]), campaign([100.0, 1000, 10_000, 18_000]))
  func `a received tone has noise of less than -90 dB`(rates: (Double, Double), hertz: Double) {
    let heard = recording(hertz, from: rates.0, to: rates.1)
    let ratio = heard.signalToNoise(cycles: hertz / rates.1)
    print("\(rates.0) to \(rates.1), \(hertz) Hz:", ratio, "dB, level", heard.level(cycles: hertz / rates.1))
    #expect(ratio >= 90)
  }

  @Test(arguments: [(48_000.0, 44_100.0, 23_600.0), (96_000, 48_000, 26_000), (96_000, 44_100, 40_000)])
  func `frequencies above the band of the output do not fold back`(
    from: Double, to: Double, hertz: Double
  ) {
    let heard = recording(hertz, from: from, to: to)
    let power = heard.samples.reduce(0.0) { $0 + Double($1 * $1) } / Double(heard.samples.count)
    print("\(hertz) Hz, \(from) to \(to): \(decibels(2 * power)) dB")
    #expect(decibels(2 * power) < -90)
  }
}

/// A sender like `ExactSender`, whose samples are not rounded to the 16 bits of the wire.
struct FloatSender: Sender {
  var card: Card
  var period = 256
  var frame = 0
  var number: UInt64 = 0

  init(_ card: Card) { self.card = card }

  mutating func play(_ sound: (Double) -> SIMD2<Float>, grid: SessionGrid) -> [Packet] {
    number += 1
    let samples = (0..<period).map { sound(card.time(of: Double(frame + $0))).x }
    let begin = grid.microbeats(at: card.time(of: Double(frame)))
    frame += period
    return [
      Packet(
        chunk: AudioChunk(
          session: grid.session, number: number, begin: begin, microsPerBeat: Int64(grid.beatMicros),
          arrival: 0, sampleRate: UInt32(card.rate), frames: UInt16(period), channels: 1),
        samples: samples, leaves: card.time(of: Double(frame)) + 200)
    ]
  }
}
