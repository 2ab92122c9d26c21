// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAudioPath
import Testing

/// Changes of the session's tempo, and jumps of its beats, while a channel is played.
struct TempoTests {
  private func world(frames: Int = 65_536) -> StreamWorld<ExactSender> {
    let world = StreamWorld(
      ExactSender(Card(rate: 48_000, ppm: 40)), output: Card(rate: 48_000, ppm: -30, start: 777),
      frames: frames)
    world.latency = 2 * 256 / 48_000 * 1e6
    return world
  }

  /// A grid that has the same beat at `time` as the given grid, and another tempo.
  private func turned(_ grid: SessionGrid, at time: Double, to beatMicros: Double) -> SessionGrid {
    let beat = (time - grid.origin) / grid.beatMicros
    return SessionGrid(session: grid.session, origin: time - beat * beatMicros, beatMicros: beatMicros)
  }

  @Test(arguments: [0.0, 30_000, -30_000])
  func `a change of tempo is inaudible if the delay is in milliseconds`(
    ahead: Double
  ) {
    let world = world()
    world.sound = tone()
    let recording = Recording()
    world.listen = recording.listen
    world.play(seconds: 4)
    recording.isOn = true
    for beatMicros in [461_538.0, 600_000, 250_000, 2_000_000, 500_000] {
      let changed = turned(world.grid, at: world.now, to: beatMicros)
      if ahead > 0 {
        world.senderGrid = changed
      } else {
        world.senderGrid = world.grid
        world.grid = changed
      }
      world.play(seconds: abs(ahead) / 1e6)
      world.grid = changed
      world.senderGrid = nil
      world.play(seconds: 2)
    }
    print("tempo changes, \(ahead / 1000) ms ahead:", world.figures, recording.roughest / smooth())
    #expect(world.figures.streams == 1 && world.figures.concealed == 0 && world.figures.reseats == 0)
    // The dither to 16 bits adds a tenth to the tone's roughness.
    #expect(recording.roughest < 1.15 * smooth())
  }

  @Test func `clicks stay at their beats while the tempo changes 200 times`() {
    let world = world()
    let clicks = world.clicks(from: 2e6)
    world.play(seconds: 4)
    for step in 0..<200 {
      world.grid = turned(world.grid, at: world.now, to: 500_000 - Double(step) * 1000)
      world.play(seconds: 0.05)
    }
    world.play(seconds: 4)
    let errors = clicks.framesLate
    print("a ramp of tempo:", spread(errors), "frames late;", world.figures)
    #expect(errors.count >= 30 && errors.allSatisfy { abs($0) <= 1 })
    #expect(world.figures.concealed == 0 && world.figures.streams == 1)
  }

  @Test(arguments: [461_538.0, 545_454])
  func `after a change of tempo a delay of four beats is four beats again`(beatMicros: Double) {
    let world = world(frames: 262_144)
    world.delay = .beats(4)
    let before = world.clicks(from: 3.5e6) { 4 * 500_000 }
    world.play(seconds: 12)
    let change = world.now
    let grid = turned(world.grid, at: change, to: beatMicros)
    world.grid = grid
    let after = Clicks()
    after.origin = grid.origin
    after.beatMicros = beatMicros
    after.delay = { 4 * beatMicros }
    after.since = change + 4 * beatMicros + 20_000
    world.sound = { time in time < change ? before.sound(at: time) : after.sound(at: time) }
    world.listen = after.listen
    world.play(seconds: 20)
    let errors = before.framesLate + after.framesLate
    print("four beats of \(beatMicros) us:", spread(errors), "frames late;", world.figures)
    #expect(errors.count >= 40 && errors.allSatisfy { abs($0) <= 1 })
    #expect(world.figures.streams == 1 && world.figures.reseats == 1 && world.figures.concealed == 0)
    #expect(abs(world.figures.delay - 4 * beatMicros / 1000) < 0.001)
  }

  @Test func `a change of the delay is crossfaded`() {
    let world = world(frames: 262_144)
    world.sound = tone()
    let recording = Recording()
    world.listen = recording.listen
    world.play(seconds: 6)
    recording.isOn = true
    for delay in [PlayoutDelay.fixed(150_000), .beats(4), .beats(1), .fixed(60_000), .standard] {
      world.delay = delay
      world.play(seconds: 3)
      print(world.figures.delay, world.figures.reseats, recording.roughest / smooth())
    }
    #expect(recording.roughest < 3 * smooth())
    #expect(recording.longestSilence < 10)
    #expect(world.figures.reseats == 5 && world.figures.delay < 25)
  }

  @Test func `a delay of too many beats is cut to the whole beats that fit`() {
    let world = world()
    world.delay = .beats(16)
    world.sound = tone()
    world.play(seconds: 6)
    #expect(world.figures.delay == 1000)
    #expect(world.figures.isPlaying && world.figures.level > 0.4)
  }

  @Test func `the sound continues when a peer moves the beats of the session`() {
    let world = world()
    world.sound = tone()
    let recording = Recording()
    world.listen = recording.listen
    world.play(seconds: 4)
    recording.isOn = true
    for moved in [171_000.0, -233_000, 3_000_000, 5000, -17_000] {
      world.senderGrid = world.grid
      world.grid.origin += moved
      world.play(seconds: 0.1)
      world.senderGrid = nil
      world.play(seconds: 3)
    }
    print("moved beats:", world.figures, recording.roughest / smooth())
    #expect(world.figures.streams == 1 && world.figures.concealed == 0)
    // The dither to 16 bits adds a tenth to the tone's roughness.
    #expect(recording.roughest < 1.15 * smooth())
  }
}
