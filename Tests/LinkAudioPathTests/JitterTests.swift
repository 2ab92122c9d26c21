// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAudioPath
import TestSupport
import Testing

/// On a wire with jitter chunks overtake each other, and our own clock is measured wrong by milliseconds.
struct JitterTests {
  @Test(arguments: [PlayoutDelay.standard, .fixed(50_000)])
  func `in ten minutes of 30 ms of jitter, our clock measured anew each ten seconds, nothing is filled in`(
    delay: PlayoutDelay
  ) {
    hear(World(ExactSender(Card(rate: 48_000, ppm: 60)), output: Card(rate: 48_000, start: 777)), delay)
  }

  @Test func `nor is anything of a sender that reckons its stamps`() {
    hear(
      World(ReferenceSender(Card(rate: 48_000, ppm: 60)), output: Card(rate: 48_000, start: 777)), .standard)
  }

  /// The sender's beats stay. What moves is where we think they are.
  private func hear<Source>(_ world: World<Source>, _ delay: PlayoutDelay) {
    world.delay = delay
    world.latency = 0
    world.wobble = 30
    world.network.jitter = 30_000
    world.senderGrid = world.grid
    let origin = world.grid.origin
    var dice = Dice(seed: 5)
    // The first chunks say how long the others are to be waited for.
    world.play(seconds: 10)
    let before = world.figures
    for _ in 0..<59 {
      world.grid.origin = origin + Double.random(in: -5000...5000, using: &dice)
      world.play(seconds: 10)
    }
    let after = world.figures
    print("30 ms of jitter, and a clock that moves:", after)
    #expect(after.received - before.received > 100_000)
    #expect(after.concealed == before.concealed && after.dropouts == before.dropouts)
    #expect(after.late == before.late && after.streams == 1)
    #expect(after.delay < 52)
  }
}
