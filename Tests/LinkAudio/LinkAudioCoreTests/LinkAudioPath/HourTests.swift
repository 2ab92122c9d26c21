// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAudioPath
import TactusTestSupport
import Testing

/// An hour of sound at a sample rate of 8 kHz, which is enough, because only the beats matter. Errors are
/// given in frames of 48 kHz.
struct HourTests {
  @Test(arguments: campaign([(100.0, -100.0), (-100.0, 100.0)]))
  func `with sound cards 200 ppm apart each click of an hour is within a frame`(
    sender: Double, receiver: Double
  ) {
    let world = StreamWorld(
      ExactSender(Card(rate: 8000, ppm: sender), period: 64),
      output: Card(rate: 8000, ppm: receiver, start: 777))
    world.period = 64
    world.delay = .fixed(40_000)
    let clicks = world.clicks(width: 400, from: 1e6) { 40_000 }
    world.play(seconds: 3600)
    let errors = clicks.framesLate
    print(
      "an hour at \(sender) and \(receiver) ppm: \(errors.count) clicks,", spread(errors), "frames late;",
      "\(world.figures.dropouts) dropouts; the sender is said to run \(world.figures.senderPPM) ppm fast")
    #expect(errors.count >= 7190)
    #expect(errors.allSatisfy { abs($0) <= 1 })
    #expect(clicks.stray == 0)
    #expect(world.figures.dropouts == 0 && world.figures.concealed == 0 && world.figures.reseats == 0)
    #expect(abs(world.figures.senderPPM - sender) < 0.1)
  }

  @Test(arguments: campaign([(100.0, -100.0), (0, 100), (-100, 0)]))
  func `a reference peer's clicks are within a frame for unequal sound cards`(
    sender: Double, receiver: Double
  ) {
    let world = StreamWorld(
      ReferenceSender(Card(rate: 48_000, ppm: sender)), output: Card(rate: 48_000, ppm: receiver, start: 777))
    world.delay = .fixed(40_000)
    let clicks = world.clicks(from: 8e6) { 40_000 }
    world.play(seconds: 30)
    let errors = clicks.framesLate
    print(
      "the reference's stamps, \(sender) and \(receiver) ppm:", spread(errors), "frames late;",
      "\(world.figures.senderPPM) ppm")
    #expect(errors.count >= 40)
    #expect(errors.allSatisfy { abs($0) <= 1 })
    #expect(world.figures.concealed == 0 && world.figures.reseats == 0)
  }
}

/// The median, minimum and maximum as text.
func spread(_ figures: [Double]) -> String {
  guard let first = figures.min(), let last = figures.max() else { return "none" }
  let median = figures.sorted()[figures.count / 2]
  return "\(rounded(median)) (\(rounded(first)) to \(rounded(last)))"
}

func rounded(_ figure: Double) -> Double { (figure * 1000).rounded() / 1000 }
