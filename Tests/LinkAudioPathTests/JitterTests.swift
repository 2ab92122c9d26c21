// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAudioPath
import TestSupport
import Testing

/// On a wire with jitter chunks overtake each other, and our own clock is measured wrong by milliseconds.
struct JitterTests {
  @Test(arguments: campaign([PlayoutDelay.standard, .fixed(50_000)]))
  func `in ten minutes of 30 ms of jitter, our clock measured anew each ten seconds, nothing is filled in`(
    delay: PlayoutDelay
  ) {
    hear(World(ExactSender(Card(rate: 48_000, ppm: 60)), output: Card(rate: 48_000, start: 777)), delay)
  }

  @Test func `nor is anything of a sender that reckons its stamps`() {
    hear(
      World(ReferenceSender(Card(rate: 48_000, ppm: 60)), output: Card(rate: 48_000, start: 777)), .standard)
  }

  private func hear<Source>(_ world: World<Source>, _ delay: PlayoutDelay) {
    world.delay = delay
    let (before, after) = world.playOnBadWire(movingTheClock: 59)
    print("30 ms of jitter, and a clock that moves:", after)
    #expect(after.received - before.received > 100_000)
    #expect(after.concealed == before.concealed && after.dropouts == before.dropouts)
    #expect(after.late == before.late && after.streams == 1)
    #expect(after.delay < 52)
  }
}

extension World {
  /// Ten seconds with 30 ms of jitter, which say how long chunks are to be waited for; then as many times ten more. The sender's beats
  /// stay, and what moves each time is where we think they are, by up to 5 ms. What was counted after the first ten, and in the end.
  func playOnBadWire(movingTheClock times: Int) -> (before: PlayoutFigures, after: PlayoutFigures) {
    latency = 0
    wobble = 30
    network.jitter = 30_000
    senderGrid = grid
    let origin = grid.origin
    var dice = Dice(seed: 5)
    play(seconds: 10)
    let before = figures
    for _ in 0..<times {
      grid.origin = origin + Double.random(in: -5000...5000, using: &dice)
      play(seconds: 10)
    }
    return (before, figures)
  }
}
