// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

@testable import LinkAudioPath

/// Packets that are made to do harm, among the packets of a channel that is played.
struct HostileStreamTests {
  private static let numbers: [Int64] = [
    0, 1, -1, .max, .min, .max - 1, .min + 1, 1 << 53, -(1 << 53), 1 << 62, -(1 << 62), 1_000_000, -1_000_000,
  ]

  private func world() -> (StreamWorld<ExactSender>, Clicks) {
    let world = StreamWorld(ExactSender(Card(rate: 48_000, ppm: 40)), output: Card(rate: 48_000, start: 777))
    world.latency = 2 * 256 / 48_000 * 1e6
    let clicks = world.clicks(from: 1e6)
    return (world, clicks)
  }

  private func anything(_ dice: inout Dice) -> Int64 {
    switch Int.random(in: 0..<3, using: &dice) {
    case 0: Self.numbers.randomElement(using: &dice)!
    case 1: Int64.random(in: .min ... .max, using: &dice)
    default: Int64.random(in: -3_000_000...3_000_000, using: &dice)
    }
  }

  @Test(arguments: 1...4 as ClosedRange<UInt64>)
  func `a flood of packets with absurd numbers does not change the sound`(seed: UInt64) {
    let (world, clicks) = world()
    var dice = Dice(seed: seed)
    world.play(seconds: 1)
    world.inspect = { good in
      for _ in 0..<8 {
        var bad = good.chunk
        bad.number = UInt64(bitPattern: self.anything(&dice))
        bad.begin = self.anything(&dice)
        if Bool.random(using: &dice) { bad.microsPerBeat = self.anything(&dice) }
        if Bool.random(using: &dice) { bad.arrival = self.anything(&dice) }
        if Int.random(in: 0..<4, using: &dice) == 0 {
          bad.sampleRate = UInt32(truncatingIfNeeded: self.anything(&dice))
        }
        if Int.random(in: 0..<4, using: &dice) == 0 { bad.frames = UInt16.random(in: 0...700, using: &dice) }
        if Int.random(in: 0..<4, using: &dice) == 0 { bad.channels = UInt8.random(in: 0...4, using: &dice) }
        if Int.random(in: 0..<4, using: &dice) == 0 { bad.session = UInt64.random(in: 0...3, using: &dice) }
        world.network.send(
          Packet(chunk: bad, samples: Array(repeating: 0.9, count: 563), leaves: good.leaves))
      }
      return true
    }
    var isFlood = false
    let check = world.inspect
    world.inspect = { packet in
      if packet.samples.count == 563 { return true }
      isFlood = true
      return check(&packet)
    }
    world.play(seconds: 20)
    let errors = clicks.framesLate
    print(
      "a flood of seed \(seed):", spread(errors), "frames late, \(clicks.damaged) damaged;", world.figures)
    #expect(isFlood && world.figures.refused > 10_000)
    #expect(errors.count + clicks.damaged >= 36)
    #expect(errors.allSatisfy { abs($0) <= 1 })
    #expect(world.figures.streams == 1)
  }

  @Test func `received samples that are NaN or huge are played within bounds`() {
    let (world, _) = world()
    var worst: Float = 0
    var dice = Dice(seed: 4)
    world.listen = { _, value in
      worst = value.x == value.x ? max(worst, abs(value.x)) : .infinity
    }
    let values: [Float] = [.nan, .infinity, -.infinity, 1e38, -1e38, 3, -3, 0, .leastNonzeroMagnitude]
    world.inspect = { packet in
      packet.samples = packet.samples.map { _ in values.randomElement(using: &dice)! }
      return true
    }
    world.network.loss = 0.05
    world.play(seconds: 5)
    #expect(worst > 1 && worst < 20)
    world.inspect = { _ in true }
    let recording = Recording()
    world.play(seconds: 1)
    world.listen = recording.listen
    recording.isOn = true
    world.play(seconds: 1)
    #expect(recording.samples.allSatisfy { abs($0) < 0.6 })
  }

  @Test(arguments: [UInt64.max - 500, UInt64.max - 1, (1 << 63) - 500, 0] as [UInt64])
  func `a stream plays on when its chunk numbers wrap`(first: UInt64) {
    let (world, clicks) = world()
    world.network.loss = 0.02
    world.network.jitter = 3000
    world.inspect = { packet in
      packet.chunk.number &+= first
      return true
    }
    world.play(seconds: 10)
    #expect(clicks.framesLate.allSatisfy { abs($0) <= 1 })
    #expect(world.figures.streams == 1 && world.figures.refused == 0)
    #expect(world.figures.received > 3500)
  }

  @Test(arguments: [-9e15, -1e12, 1e12, 9e13, 9e15])
  func `received clicks are at their beats for any value of the host clock`(start: Double) {
    let world = StreamWorld(
      ExactSender(Card(rate: 48_000, ppm: 40, start: start)), output: Card(rate: 48_000, start: start + 777))
    world.grid.origin = start - 98_765
    let clicks = world.clicks(from: start + 2e6)
    world.play(seconds: 10)
    let errors = clicks.framesLate
    print("a clock at \(start):", spread(errors), "frames late;", world.figures.concealed)
    // After 285 years a Double holds only whole microseconds.
    let most = abs(start) > 1e15 ? 3.0 : 1
    #expect(errors.count > 10 && errors.allSatisfy { abs($0) <= most })
    #expect(world.figures.concealed == 0)
  }

  /// A search for the sound's pitch, which concealment repeats, costs thousands of products. Here every gap
  /// is one sample long, so a search for each gap would cost too much.
  @Test func `if every second sample is lost, the pitch is searched only rarely`() {
    let receiver = Receiver()
    let seconds = 2
    for period in 0..<seconds * 48_000 / 256 {
      let hearing = OutputPeriod(
        frames: 256, sampleRate: 48_000, start: Double(period * 256) / 0.048, frameMicros: 1 / 0.048,
        latencyMicros: 5000, grid: SessionGrid(session: 1, origin: 0, beatMicros: 500_000))
      for number in stride(from: period * 256, to: (period + 1) * 256, by: 2) {
        let chunk = AudioChunk(
          session: 1, number: UInt64(number), begin: Int64((Double(number) / 0.024).rounded()),
          microsPerBeat: 500_000, arrival: Int64(hearing.start), sampleRate: 48_000, frames: 1, channels: 1)
        let level = Float(turn(Double(number) / 109).sine * 0.5)
        receiver.insert(Packet(chunk: chunk, samples: [level], leaves: 0), hearing)
      }
      receiver.render(hearing) { _, value in #expect(abs(value.x) < 1.1) }
    }
    let searches = receiver.playout.concealment.searches
    print("every second sample:", searches, "searches;", receiver.playout.figures)
    #expect(receiver.playout.figures.concealed > 40_000)
    #expect(searches <= UInt64(seconds * 400) && searches > 100)
  }

  @Test func `at most one new stream begins in a period, however packets alternate`() {
    let receiver = Receiver()
    for period in 0..<20 {
      let hearing = OutputPeriod(
        frames: 256, sampleRate: 48_000, start: Double(period * 256) / 0.048, frameMicros: 1 / 0.048,
        latencyMicros: 5000, grid: SessionGrid(session: 1, origin: 0, beatMicros: 500_000))
      for packet in 0..<256 {
        let number = period * 256 + packet
        let chunk = AudioChunk(
          session: 1, number: UInt64(number), begin: Int64((Double(number) / 0.024).rounded()),
          microsPerBeat: 500_000, arrival: Int64(hearing.start),
          sampleRate: packet / 2 % 2 == 0 ? 48_000 : 44_100, frames: 1, channels: 1)
        receiver.insert(Packet(chunk: chunk, samples: [0.5], leaves: 0), hearing)
      }
      receiver.render(hearing) { _, value in #expect(abs(value.x) < 1.1) }
    }
    print("another one all the time:", receiver.playout.figures)
    #expect(receiver.playout.figures.streams > 5 && receiver.playout.figures.streams <= 20)
  }

  @Test func `random chunk lengths are not trusted, regular patterns are learned`() {
    var dice = Dice(seed: 6)
    var lengths = ChunkLengths(first: .max - 500)
    var isTrusted = 0
    for number in 0..<20_000 as Range<UInt64> {
      lengths.add(Int64.random(in: 1...563, using: &dice), number: .max - 500 &+ number)
      if lengths.areKnown { isTrusted += 1 }
      #expect(lengths.sum(of: .max, from: number, usual: .max) != 0 || !lengths.areKnown)
      let sum = lengths.sum(of: 128, from: number, usual: 10)
      #expect(sum >= 128 && sum <= 128 * 563)
    }
    #expect(isTrusted == 0)
    // The lengths of periods of 2048 and 8192 stereo frames are learned despite losses.
    for (frames, pieces) in [(2048, 17), (8192, 66)] {
      lengths = ChunkLengths(first: .max - 5000)
      func length(_ number: Int) -> Int64 {
        Int64(frames * (number % pieces + 1) / pieces - frames * (number % pieces) / pieces)
      }
      for number in 0..<10_000 where Int.random(in: 0..<5, using: &dice) > 0 {
        lengths.add(length(number), number: .max - 5000 &+ UInt64(number))
      }
      #expect(lengths.areKnown)
      for count in 0..<120 {
        let expected = (10_000..<10_000 + count).reduce(0) { $0 + length($1) }
        #expect(lengths.sum(of: Int64(count), from: 4999, usual: 9) == expected)
      }
    }
  }

  @Test func `a period with impossible times, delay or grid gives no NaN sample`() {
    let receiver = Receiver()
    let bad: [Double] = [.nan, .infinity, -.infinity, 0, -1, 1e300, -1e300, 1e18]
    let good = OutputPeriod(
      frames: 256, sampleRate: 48_000, start: 0, frameMicros: 20.8, latencyMicros: 5000,
      grid: SessionGrid(session: 1, origin: 0, beatMicros: 500_000))
    let packet = Packet(
      chunk: AudioChunk(
        session: 1, number: 1, begin: 0, microsPerBeat: 500_000, arrival: 0, sampleRate: 48_000, frames: 100,
        channels: 1), samples: Array(repeating: 0.5, count: 100), leaves: 0)
    for value in bad {
      for part in 0..<7 {
        var hearing = good
        switch part {
        case 0: hearing.start = value
        case 1: hearing.frameMicros = value
        case 2: hearing.latencyMicros = value
        case 3: hearing.grid.origin = value
        case 4: hearing.grid.beatMicros = value
        case 5: hearing.frames = abs(value) < 1e5 ? Int(value) : 9000
        default: receiver.playout.delay = .fixed(value)
        }
        for number in 0..<4 {
          var packet = packet
          packet.chunk.number = UInt64(number)
          packet.chunk.begin = Int64(number) * 4167
          receiver.insert(packet, hearing)
        }
        if hearing.frames > 0, hearing.frames <= Playout.mostFrames {
          receiver.render(hearing) { _, value in #expect(value.x == value.x) }
        }
      }
      receiver.playout.delay = .adaptive(least: value)
      receiver.render(good) { _, value in #expect(value.x == value.x) }
    }
    receiver.playout.delay = .beats(.max)
    receiver.render(good) { _, _ in }
    receiver.playout.delay = .beats(.min)
    receiver.render(good) { _, _ in }
  }
}
