// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAudioPath
import TactusTestSupport
import Testing

/// The sound through networks that delay, lose, double and reorder packets.
struct NetworkTests {
  private func world(channels: Int = 1, rate: Double = 48_000) -> StreamWorld<ExactSender> {
    let world = StreamWorld(
      ExactSender(Card(rate: rate, ppm: 40), channels: channels),
      output: Card(rate: 48_000, ppm: -20, start: 777))
    world.latency = 2 * 128 / 48_000 * 1e6
    world.period = 128
    return world
  }

  /// Plays clicks. Returns the frames by which each click was late.
  private func clicks(_ world: StreamWorld<ExactSender>, delay: Double?, from: Double = 4, seconds: Double)
    -> (errors: [Double], clicks: Clicks)
  {
    let clicks = world.clicks(width: world.card.rate < 10_000 ? 400 : 150, from: from * 1e6) {
      delay ?? world.delayHeard
    }
    world.play(seconds: seconds)
    return (clicks.framesLate, clicks)
  }

  @Test(arguments: [48_000.0, 44_100], [1, 2])
  func `on a wired network each click is 20 ms after its beat`(rate: Double, channels: Int) {
    let world = world(channels: channels, rate: rate)
    let (errors, _) = clicks(world, delay: nil, seconds: 14)
    print("a wire, \(rate) to 48000, \(channels) channels:", spread(errors), "frames late;", world.figures)
    #expect(errors.count >= 16)
    #expect(errors.allSatisfy { abs($0) <= 1 })
    #expect(world.figures.delay <= 20)
    #expect(world.figures.concealed == 0 && world.figures.late == 0)
  }

  @Test func `with 30 ms of jitter a delay of at most 50 ms leaves no chunk late`() {
    // A sample rate of 8 kHz is enough here, because only the beats matter.
    let world = StreamWorld(
      ExactSender(Card(rate: 8000, ppm: 40), period: 32), output: Card(rate: 8000, ppm: -20, start: 777))
    world.latency = 4000
    world.period = 16
    world.network.jitter = 30_000
    let (errors, clicks) = clicks(world, delay: nil, seconds: 600)
    print("30 ms of jitter:", spread(errors), "frames late;", world.figures)
    #expect(world.figures.delay <= 50)
    #expect(world.figures.dropouts == 0 && world.figures.concealed == 0 && world.figures.late == 0)
    #expect(errors.count >= 1180)
    #expect(errors.allSatisfy { abs($0) <= 1 })
    #expect(clicks.stray == 0)
  }

  @Test func `a fixed delay that is too short is kept, and late chunks are counted`() {
    let world = world()
    world.delay = .fixed(36_000)
    world.network.jitter = 30_000
    let (errors, clicks) = clicks(world, delay: 36_000, seconds: 40)
    print(
      "36 ms against 30 ms of jitter:", spread(errors), "frames late, \(clicks.damaged) damaged;",
      world.figures)
    #expect(world.figures.delay == 36 && world.figures.reseats == 0 && world.figures.streams == 1)
    #expect(world.figures.late > 500 && world.figures.lost < 8)
    #expect(errors.count > 10 && errors.allSatisfy { abs($0) <= 1 })
  }

  @Test(arguments: campaign([0.01, 0.05]))
  func `lost chunks are concealed and do not move later clicks`(loss: Double) {
    let whole = world(channels: 2)
    whole.delay = .fixed(25_000)
    let (before, _) = clicks(whole, delay: 25_000, seconds: 40)
    let torn = world(channels: 2)
    torn.delay = .fixed(25_000)
    torn.network.loss = loss
    let (after, clicks) = clicks(torn, delay: 25_000, seconds: 40)
    print(
      "\(loss * 100) % lost:", spread(before), "frames late before,", spread(after), "after,",
      "\(clicks.damaged) of them damaged;", torn.figures)
    #expect(after.count >= 50)
    #expect(after.allSatisfy { abs($0) <= 1 })
    #expect(abs(after.sorted()[after.count / 2] - before.sorted()[before.count / 2]) < 0.02)
    #expect(torn.figures.streams == 1 && torn.figures.reseats == 0)
    #expect(torn.figures.lost > 80 && torn.figures.concealed > 80)
  }

  @Test func `a tone that loses 1 % of its packets continues without a click`() {
    let torn = world(channels: 2)
    torn.delay = .fixed(25_000)
    torn.network.loss = 0.01
    torn.sound = { time in
      let level = Float(turn(time * 440 / 1e6).sine * 0.5)
      return SIMD2(level, -level)
    }
    let recording = Recording()
    torn.listen = recording.listen
    torn.play(seconds: 2)
    recording.isOn = true
    torn.play(seconds: 12)
    print(
      "1 % of a tone lost: \(recording.signalToNoise(cycles: 440.0 / 48_000 / 0.99998)) dB,",
      "roughest \(recording.roughest / smooth()) times the tone")
    #expect(torn.figures.concealed > 50)
    #expect(recording.roughest < 3 * smooth())
  }

  @Test func `reordered and doubled chunks are each played once, at their beats`() {
    let mixed = world()
    mixed.network.jitter = 12_000
    mixed.network.doubles = 0.3
    let (errors, clicks) = clicks(mixed, delay: nil, seconds: 30)
    print("12 ms of jitter, a third doubled:", spread(errors), "frames late;", mixed.figures)
    #expect(mixed.figures.duplicated > 2500)
    #expect(mixed.figures.concealed == 0 && mixed.figures.streams == 1 && mixed.figures.late == 0)
    #expect(mixed.figures.lost < 8 && mixed.figures.refused <= 1)
    #expect(errors.allSatisfy { abs($0) <= 1 } && clicks.damaged == 0)
  }

  @Test
  func `the delay grows after the network stalls, and returns to its old value`() {
    let move = StreamWorld(
      ExactSender(Card(rate: 44_100, ppm: 25), period: 128), output: Card(rate: 48_000, start: 777))
    move.period = 128
    move.latency = 5333
    let clicks = move.clicks(from: 4e6)
    move.play(seconds: 10)
    let usual = move.figures.delay
    move.network.stall = move.now...move.now + 92_000
    move.play(seconds: 5)
    let once = move.figures
    move.network.stall = move.now...move.now + 92_000
    move.play(seconds: 5)
    let twice = move.figures
    move.play(seconds: 50)
    let errors = clicks.framesLate
    print("92 ms of nothing: from \(usual) to \(once.delay) ms,", once, "and again:", twice)
    print("at last \(move.figures.delay) ms;", spread(errors), "frames late, \(clicks.damaged) damaged")
    #expect(usual <= 21)
    #expect(once.delay > 92 && once.delay < 140)
    #expect(twice.concealed == once.concealed && twice.late == once.late && twice.dropouts == once.dropouts)
    #expect(once.streams == 1 && once.lost == 0)
    #expect(move.figures.delay <= 21)
    #expect(clicks.damaged <= 2)
    #expect(errors.allSatisfy { abs($0) <= 1 })
  }
}
