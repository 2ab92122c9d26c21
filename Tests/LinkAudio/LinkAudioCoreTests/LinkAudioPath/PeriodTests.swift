// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAudioPath
import TactusTestSupport
import Testing

/// Periods of various lengths, at the sender and at the receiver.
struct PeriodTests {
  @Test(arguments: campaign([16, 256, 8192]), campaign([16, 1000, 8192]))
  func `clicks are at their beats for any periods of sender and receiver`(sent: Int, heard: Int) {
    let world = StreamWorld(
      ExactSender(Card(rate: 48_000, ppm: 80), period: sent), output: Card(rate: 48_000, ppm: -20, start: 777)
    )
    world.period = heard
    world.latency = Double(2 * heard) / 48_000 * 1e6
    let clicks = world.clicks(from: 8e6)
    world.play(seconds: 16)
    let errors = clicks.framesLate
    print("periods of \(sent) and \(heard):", spread(errors), "frames late;", world.figures)
    #expect(errors.count >= 12 && errors.allSatisfy { abs($0) <= 1 })
    #expect(world.figures.concealed == 0 && world.figures.late == 0 && clicks.damaged == 0)
  }

  @Test func `clicks stay at their beats when periods change and cycles are lost`() {
    let world = StreamWorld(
      ExactSender(Card(rate: 48_000, ppm: 80)), output: Card(rate: 48_000, ppm: -20, start: 777))
    world.latency = 2 * 1024 / 48_000 * 1e6
    let clicks = world.clicks(from: 5e6)
    var dice = Dice(seed: 8)
    for _ in 0..<300 {
      world.period = [16, 64, 100, 256, 1024].randomElement(using: &dice)!
      world.play(seconds: 0.1)
      if Int.random(in: 0..<20, using: &dice) == 0 { world.frame += world.period }
    }
    let errors = clicks.framesLate
    print(
      "changing periods, lost cycles:", spread(errors), "frames late, \(clicks.damaged) damaged;",
      world.figures)
    // After a lost cycle of 16 frames the playhead returns slowly, so a few clicks are up to 17 frames off.
    #expect(errors.allSatisfy { abs($0) <= 17 } && errors.filter { abs($0) > 1 }.count <= 6)
    #expect(clicks.damaged <= 3 && world.figures.streams == 1)
  }

  @Test(arguments: campaign([8000.0, 192_000]), campaign([8000.0, 48_000, 192_000]))
  func `a low tone keeps its quality between any two sample rates`(sent: Double, heard: Double) {
    for period in [64, 8192] {
      let world = StreamWorld(
        ExactSender(Card(rate: sent, ppm: 80), channels: 2), output: Card(rate: heard, start: 777),
        frames: 524_288)
      world.period = period
      world.sound = { time in
        let level = Float(turn(time * 200 / 1e6).sine * 0.5)
        return SIMD2(level, -level)
      }
      let recording = Recording()
      world.listen = recording.listen
      let settled = 2 * Double(period) / heard + 1
      world.play(seconds: 4 * settled)
      recording.isOn = true
      world.play(seconds: 0.2)
      let ratio = recording.signalToNoise(cycles: 200 / heard)
      print("\(sent) to \(heard), periods of \(period): \(ratio) dB;", world.figures.delay, "ms")
      #expect(ratio > 80)
      #expect(world.figures.concealed == 0)
    }
  }
}
