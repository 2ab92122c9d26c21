// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAudioPath
import TactusTestSupport
import Testing

/// A network whose jitter reorders chunks, and a host clock that is wrong by milliseconds.
struct JitterTests {
  @Test(arguments: campaign([PlayoutDelay.standard, .fixed(50_000)]))
  func `30 ms of jitter and clock corrections cause no gap in ten minutes`(
    delay: PlayoutDelay
  ) {
    receive(
      StreamWorld(ExactSender(Card(rate: 48_000, ppm: 60)), output: Card(rate: 48_000, start: 777)), delay)
  }

  @Test func `jitter and clock corrections cause no gap in a reference peer's sound`() {
    receive(
      StreamWorld(ReferenceSender(Card(rate: 48_000, ppm: 60)), output: Card(rate: 48_000, start: 777)),
      .standard)
  }

  private func receive<Source>(_ world: StreamWorld<Source>, _ delay: PlayoutDelay) {
    world.delay = delay
    let (before, after) = world.playOnBadWire(movingTheClock: 59)
    print("30 ms of jitter, and a clock that moves:", after)
    #expect(after.received - before.received > 100_000)
    #expect(after.concealed == before.concealed && after.dropouts == before.dropouts)
    #expect(after.late == before.late && after.streams == 1)
    #expect(after.delay < 52)
  }
}

extension StreamWorld {
  /// Plays ten seconds with 30 ms of jitter, from which the delay is learned, and then ten more seconds
  /// `times` times. The sender's beats stay, but our view of the beats moves by up to 5 ms each time. Returns
  /// the figures after the first ten seconds and at the end.
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
