// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAudioPath
import TactusTestSupport
import Testing

/// Streams that begin, end and restart, and chunks that belong to no stream.
struct StreamTests {
  private func world(ppm: Double = 40, channels: Int = 1) -> StreamWorld<ExactSender> {
    let world = StreamWorld(
      ExactSender(Card(rate: 48_000, ppm: ppm), channels: channels), output: Card(rate: 48_000, start: 777))
    world.latency = 2 * 256 / 48_000 * 1e6
    return world
  }

  @Test(arguments: [0.0, 0.7, 1.9], [PlayoutDelay.standard, .fixed(20_000)])
  func `a new stream is heard within 50 ms of its first packet`(after: Double, delay: PlayoutDelay) {
    let world = world()
    world.delay = delay
    world.sound = tone()
    world.sender.skip(Int(after * 1000))
    var first: Double?
    var heard: Double?
    world.inspect = { packet in
      guard world.now > after * 1e6 else { return false }
      if first == nil { first = Double(packet.chunk.arrival) }
      return true
    }
    world.listen = { time, value in if heard == nil, abs(value.x) > 0.01 { heard = time - world.latency } }
    world.play(seconds: after + 0.3)
    let wait = (heard ?? .infinity) - (first ?? 0)
    print("joined after \(after) s: first sound \(wait / 1000) ms after the first packet")
    #expect(wait <= 50_000)
    #expect(world.figures.concealed == 0)
  }

  @Test func `a restarted sender is heard again at once without a click`() {
    let world = world()
    world.sound = tone()
    let recording = Recording()
    world.listen = recording.listen
    world.play(seconds: 3)
    recording.isOn = true
    var sender = ExactSender(
      Card(rate: 48_000, ppm: -60, start: world.sender.card.time(of: Double(world.sender.frame))))
    sender.frame = 0
    world.sender = sender
    world.play(seconds: 1)
    print("a sender begins again:", world.figures, recording.roughest / smooth())
    #expect(world.figures.streams == 2)
    #expect(recording.roughest < 3 * smooth())
    let silence = recording.longestSilence
    print("silent for \(Double(silence) / 48) ms")
    #expect(silence < 48 * 60)
  }

  @Test func `a new sample rate, channel count or session begins a new stream`() {
    let world = world()
    world.sound = tone()
    let recording = Recording()
    world.listen = recording.listen
    world.play(seconds: 3)
    recording.isOn = true
    let start = { world.sender.card.time(of: Double(world.sender.frame)) }
    world.sender = ExactSender(Card(rate: 44_100, start: start()), channels: 1)
    world.play(seconds: 1)
    #expect(world.figures.streams == 2 && world.figures.sampleRate == 44_100)
    world.sender = ExactSender(Card(rate: 44_100, start: start()), channels: 2)
    world.play(seconds: 1)
    #expect(world.figures.streams == 3 && world.figures.channels == 2)
    world.grid = SessionGrid(session: 2, origin: world.now - 5e8, beatMicros: 400_000)
    world.play(seconds: 1)
    print("a new session:", world.figures, recording.roughest / smooth())
    #expect(world.figures.streams == 4 && world.figures.isPlaying)
    #expect(recording.roughest < 3 * smooth())
    #expect(recording.longestSilence < 48 * 60)
  }

  @Test func `audio from before a pause and audio of an old session are dropped`() {
    let world = StreamWorld(
      ReferenceSender(Card(rate: 48_000, ppm: 30)), output: Card(rate: 48_000, start: 777))
    let clicks = world.clicks(from: 2e6)
    world.play(seconds: 10)
    // The sender has no subscriber for four seconds. The first 0.83 s of this time stay in the sender's
    // queue.
    var queue: [Packet] = []
    let left = world.now
    world.inspect = { packet in
      if world.now < left + 830_000 { queue.append(packet) }
      return false
    }
    world.play(seconds: 4)
    world.inspect = { packet in
      let numbers = UInt64(queue.count)
      if numbers > 0 {
        for old in queue {
          world.network.send(Packet(chunk: old.chunk, samples: old.samples, leaves: world.now))
        }
        queue = []
        return false
      }
      return true
    }
    let old = Packet(
      chunk: AudioChunk(
        session: 77, number: 5, begin: 1_000_000, microsPerBeat: 500_000, arrival: 0, sampleRate: 48_000,
        frames: 204, channels: 1), samples: Array(repeating: 0.9, count: 204), leaves: world.now)
    world.network.send(old)
    let before = world.figures
    world.play(seconds: 10)
    let errors = clicks.framesLate
    print("four stale seconds:", spread(errors), "frames late;", world.figures)
    #expect(clicks.stray == 0)
    #expect(world.figures.refused >= before.refused + 100)
    #expect(world.figures.streams == 2)
    #expect(errors.count >= 28 && errors.allSatisfy { abs($0) <= 2 })
    #expect(world.figures.delay < 40)
  }

  @Test func `after a pause of the sender the sound continues at the right beat`() {
    let world = world()
    let clicks = world.clicks(from: 2e6)
    for pause in [0.05, 0.2, 0.6, 3.0, 30] {
      world.play(seconds: 4)
      let until = world.now + pause * 1e6
      world.inspect = { _ in world.now > until }
      world.play(seconds: pause)
    }
    world.play(seconds: 4)
    let errors = clicks.framesLate
    print("pauses:", spread(errors), "frames late;", world.figures)
    #expect(errors.allSatisfy { abs($0) <= 1 })
    #expect(clicks.stray == 0)
    #expect(world.figures.dropouts >= 3 && world.figures.reseats == 0)
  }

  @Test func `a lost cycle of the sender causes a gap and moves no later sound`() {
    let world = world()
    let clicks = world.clicks(from: 2e6)
    for _ in 0..<20 {
      world.play(seconds: 1.7)
      world.sender.frame += 256
    }
    let errors = clicks.framesLate
    print("twenty lost cycles:", spread(errors), "frames late, \(clicks.damaged) damaged;", world.figures)
    #expect(errors.allSatisfy { abs($0) <= 1 })
    #expect(clicks.damaged <= 3)
    #expect(world.figures.reseats == 0 && world.figures.streams == 1)
    #expect(world.figures.concealed >= 18)
  }

  @Test func `a clock correction of 300 us at sender or receiver is inaudible`() {
    let world = world()
    world.sound = tone(1000)
    let recording = Recording()
    world.listen = recording.listen
    world.play(seconds: 5)
    recording.isOn = true
    for error in [300.0, -300, 0] {
      world.sender.clockError = error
      world.play(seconds: 5)
    }
    for error in [300.0, -300] {
      world.grid.origin += error
      world.senderGrid = world.senderGrid ?? world.grid
      world.play(seconds: 5)
    }
    print("steps of 300 us:", world.figures, recording.roughest / smooth(1000))
    #expect(world.figures.reseats == 0 && world.figures.concealed == 0 && world.figures.streams == 1)
    // The dither to 16 bits adds a hundredth to the tone's roughness.
    #expect(recording.roughest < 1.03 * smooth(1000))
  }

  @Test(arguments: [300.0, -300, 1200])
  func `after a step of a clock the playing speed changes by at most 0.05 %`(step: Double) {
    let world = StreamWorld(FloatSender(Card(rate: 48_000, ppm: 40)), output: Card(rate: 48_000, start: 777))
    world.delay = .fixed(40_000)
    // The sound is a ramp, so that each sample's value shows its time.
    world.sound = { time in SIMD2(Float(time / 20e6), 0) }
    let recording = Recording()
    world.listen = recording.listen
    world.play(seconds: 5)
    recording.isOn = true
    world.senderGrid = world.grid
    world.grid.origin += step
    world.play(seconds: 8)
    let speeds = stride(from: 0, to: recording.samples.count - 2400, by: 2400).map { first in
      let passed = recording.samples[first + 2400] - recording.samples[first]
      return Double(passed) * (20e6 / 50_000)
    }
    print("a step of \(step) us: speeds of", spread(speeds.map { ($0 - 1) * 1e6 }), "ppm")
    #expect(speeds.allSatisfy { abs($0 - 1) < 0.0006 })
    #expect(speeds.contains { abs($0 - 1) > 0.0001 })
    #expect(world.figures.reseats == 0)
  }

  @Test(arguments: campaign([0.5, 3, 100]))
  func `clicks stay at their beats when the receiver's time jumps by seconds`(seconds: Double) {
    let world = world()
    let clicks = world.clicks(from: 2e6)
    world.play(seconds: 5)
    world.frame += Int(seconds * 48_000)
    // All packets that were sent during the jump arrive at once.
    world.play(seconds: 10)
    world.frame -= Int(seconds * 48_000)
    world.play(seconds: seconds + 10)
    let errors = clicks.framesLate
    print(
      "a leap of \(seconds) s and back:", spread(errors), "frames late, \(clicks.damaged) damaged;",
      world.figures)
    #expect(errors.count >= 40 && errors.allSatisfy { abs($0) <= 1 })
    #expect(clicks.damaged <= 4)
  }

  @Test func `jitter of the output's cycle times does not reach the sound`() {
    let world = world()
    world.sound = tone(1000)
    world.wobble = 5
    let recording = Recording()
    world.listen = recording.listen
    world.play(seconds: 8)
    recording.isOn = true
    world.play(seconds: 0.5)
    let ratio = recording.signalToNoise(cycles: 1000.0 / 48_000)
    let clicks = world.clicks(from: world.now + 1e6)
    world.play(seconds: 20)
    let errors = clicks.framesLate
    print("5 us of wobble: a tone in 16 bits with \(ratio) dB;", spread(errors), "frames late")
    #expect(ratio > 80)
    #expect(errors.allSatisfy { abs($0) <= 1 })
  }

  @Test(arguments: [-7500.0, -150_000, -700_000])
  func `chunks that arrive before their beats are played at their beats`(early: Double) {
    let world = world()
    world.senderGrid = world.grid
    world.senderGrid!.origin += early
    let clicks = world.clicks(from: 2e6) { world.delayHeard - early }
    world.play(seconds: 10)
    let errors = clicks.framesLate
    print("early by \(early / -1000) ms:", spread(errors), "frames late;", world.figures)
    #expect(errors.count > 10 && errors.allSatisfy { abs($0) <= 1 })
    #expect(world.figures.concealed == 0 && world.figures.delay == 20)
  }

  @Test(arguments: 1...2)
  func `after lost cycles a reference's next stamp brings the sound in time`(channels: Int) {
    let world = StreamWorld(
      ReferenceSender(Card(rate: 48_000, ppm: 60), channels: channels),
      output: Card(rate: 48_000, ppm: -60, start: 777))
    let clicks = world.clicks(from: 10e6)
    world.play(seconds: 10)
    for _ in 0..<5 {
      world.sender.loseCycle()
      world.play(seconds: 7)
    }
    let errors = clicks.framesLate
    let right = errors.filter { abs($0) <= 1 }.count
    print(
      "the reference lost five cycles: \(right) of \(errors.count) clicks in their places,", spread(errors),
      "frames late;", world.figures)
    // Until the reference measures a new stamp, which takes up to 1.34 s, its stamps are wrong.
    #expect(errors.count - right <= 5 * 4 && errors.count > 60)
    #expect(errors.allSatisfy { abs($0) <= 260 })
    // Until the reference measures a new stamp, its stamps are a period late, so a short delay may have to
    // grow.
    #expect(world.figures.streams == 1 && world.figures.reseats <= 2)
    #expect(abs(world.figures.senderPPM - 60) < 1)
  }

  @Test func `a reference peer's sound stays in time on a bad network`() {
    let world = StreamWorld(
      ReferenceSender(Card(rate: 44_100, ppm: -70), channels: 2), output: Card(rate: 48_000, start: 777))
    world.network.loss = 0.03
    world.network.jitter = 8000
    world.network.doubles = 0.05
    let clicks = world.clicks(from: 10e6)
    world.play(seconds: 40)
    let errors = clicks.framesLate
    print(
      "the reference, 3 % lost:", spread(errors), "frames late, \(clicks.damaged) damaged;", world.figures)
    #expect(errors.count > 40 && errors.allSatisfy { abs($0) <= 1.5 })
    #expect(world.figures.streams == 1 && world.figures.reseats == 0)
  }

  @Test func `a network delay that grows and shrinks causes at most one gap`() {
    let world = world()
    world.period = 128
    world.latency = 5333
    world.sound = tone()
    let recording = Recording()
    world.listen = recording.listen
    world.play(seconds: 3)
    recording.isOn = true
    world.network.stall = world.now...world.now + 35_000
    world.play(seconds: 0.5)
    let grown = world.figures
    world.play(seconds: 80)
    print("grown:", grown, "shrunk:", world.figures, recording.roughest / smooth())
    #expect(grown.delay > 35 && grown.reseats == 1)
    #expect(world.figures.delay <= 21 && world.figures.reseats == 1 && world.figures.concealed == 1)
    #expect(recording.roughest < 3 * smooth())
    #expect(recording.longestSilence < 48 * 45)
  }
}
