// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAudioPath
import TactusTestSupport
import Testing

/// Delays that are longer than the lane's memory allows.
struct DelayRoomTests {
  private func world(frames: Int, _ delay: PlayoutDelay) -> StreamWorld<ExactSender> {
    let world = StreamWorld(
      ExactSender(Card(rate: 48_000)), output: Card(rate: 48_000, start: 777), frames: frames)
    world.delay = delay
    world.play(seconds: 1)
    return world
  }

  @Test func `a delay longer than the lane is shortened, and the figures show this`() {
    for delay in [PlayoutDelay.beats(4), .fixed(2e6), .adaptive(least: 2e6)] {
      let figures = world(frames: 65_536, delay).figures
      #expect(figures.isPlaying && figures.isDelayShortened && figures.delay < 1_400, "\(delay)")
    }
    for delay in [PlayoutDelay.beats(2), .fixed(1e6), .standard] {
      let figures = world(frames: 65_536, delay).figures
      #expect(figures.isPlaying && !figures.isDelayShortened, "\(delay)")
    }
    let figures = world(frames: 262_144, .beats(4)).figures
    #expect(!figures.isDelayShortened && figures.delay == 2_000)
  }

  @Test func `a slow tempo shortens a delay of beats, and the figures show this`() {
    let world = world(frames: 65_536, .beats(2))
    world.grid.beatMicros = 3_000_000
    world.play(seconds: 1)
    #expect(world.figures.isDelayShortened)
  }
}
