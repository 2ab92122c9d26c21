// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkAudioPath
import LinkBeatMath
import TactusTestSupport

/// A `Playout` with its memory.
final class Receiver {
  /// The interpolator's table. All receivers share it, as in the program.
  nonisolated(unsafe) static let kernel = Kernel(in: .allocate(capacity: Kernel.floats))

  private let memory: UnsafeMutableRawPointer
  var playout: Playout
  private let left: UnsafeMutablePointer<Float> = .allocate(capacity: Playout.mostFrames)
  private let right: UnsafeMutablePointer<Float> = .allocate(capacity: Playout.mostFrames)

  private let frames: Int

  init(frames: Int = 65_536) {
    self.frames = frames
    memory = .allocate(byteCount: Playout.bytes(frames: frames), alignment: 64)
    playout = Playout(in: memory, frames: frames, kernel: Self.kernel)
  }

  /// Begins with a new playout that knows no stream.
  func forget() { playout = Playout(in: memory, frames: frames, kernel: Self.kernel) }

  deinit {
    memory.deallocate()
    left.deallocate()
    right.deallocate()
  }

  func insert(_ packet: Packet, _ hearing: OutputPeriod) {
    packet.samples.withUnsafeBufferPointer { playout.insert(packet.chunk, samples: $0, hearing) }
  }

  func render(_ hearing: OutputPeriod, _ listen: (Int, SIMD2<Float>) -> Void) {
    playout.render(hearing, left: left, right: right)
    for frame in 0..<hearing.frames { listen(frame, SIMD2(left[frame], right[frame])) }
  }
}

/// A sender, a network and a receiver, each with its own crystal, and a session. The world's clock counts
/// microseconds.
final class StreamWorld<Source: Sender> {
  var sender: Source
  var network = Network()
  var card: Card
  var period = 256
  var latency = 5000.0
  /// The largest error of a cycle's time as JACK gives it, early or late, in microseconds.
  var wobble = 0.0
  /// A slowly changing error of JACK's times, which also moves all local sound.
  var wander: (Double) -> Double = { _ in 0 }
  private var dice = Dice(seed: 11)
  /// The session's present grid; former grids are kept by the parts that need them.
  var grid = SessionGrid(session: 1, origin: 123_456.7, beatMicros: 500_000)
  /// The session's grid as the sender sees it, if that differs from `grid`.
  var senderGrid: SessionGrid?
  let receiver: Receiver
  /// The next frame of the output.
  var frame = 0
  var sound: (Double) -> SIMD2<Float> = { _ in SIMD2(0, 0) }
  /// Called for each frame with the time at which it is heard.
  var listen: (Double, SIMD2<Float>) -> Void = { _, _ in }
  /// Called for each packet before it is received; false drops it.
  var inspect: (inout Packet) -> Bool = { _ in true }
  /// The delay of the frame that is heard, in microseconds.
  private(set) var delayHeard = 0.0
  private var sent = 0.0

  init(_ sender: Source, output: Card, frames: Int = 65_536) {
    self.sender = sender
    card = output
    receiver = Receiver(frames: frames)
    sent = sender.card.start
  }

  var now: Double { card.time(of: Double(frame)) }
  var figures: PlayoutFigures { receiver.playout.figures }
  var delay: PlayoutDelay {
    get { receiver.playout.delay }
    set { receiver.playout.delay = newValue }
  }

  func step() {
    let start = now
    while sent <= start {
      let packets = sender.play(sound, grid: senderGrid ?? grid)
      for packet in packets { network.send(packet) }
      sent += Double(sender.period) * sender.card.frameMicros
    }
    let wandered = wander(start)
    let error = wandered + (wobble > 0 ? Double.random(in: -wobble...wobble, using: &dice) : 0)
    let hearing = OutputPeriod(
      frames: period, sampleRate: UInt32(card.rate), start: start + error, frameMicros: card.frameMicros,
      latencyMicros: latency, grid: grid)
    let micros = Double(period) * card.frameMicros
    for packet in network.receive(until: start) {
      var packet = packet
      if inspect(&packet) { receiver.insert(packet, hearing) }
    }
    let before = figures.delay * 1000
    receiver.render(hearing) { index, value in
      // A small change of the delay is spread over the period; a large change is made at the period's
      // beginning.
      let after = receiver.playout.figures.delay * 1000
      let change = after - before
      let share = Double(index) / Double(period)
      delayHeard = abs(change) < 0.003 * micros ? before + change * share : after
      listen(start + wandered + latency + Double(index) * card.frameMicros, value)
    }
    frame += period
  }

  /// Makes the sender play clicks, each to be heard `delay` after its beat. Clicks after `start` are
  /// measured.
  func clicks(width: Double = 150, from start: Double, delay: (() -> Double)? = nil) -> Clicks {
    let clicks = Clicks(width: width)
    clicks.origin = grid.origin
    clicks.delay = delay ?? { [unowned self] in delayHeard }
    clicks.since = start
    sound = clicks.sound
    listen = clicks.listen
    return clicks
  }

  func play(seconds: Double) {
    let end = now + seconds * 1e6
    while now < end { step() }
  }
}

/// Makes a click on each beat, and measures the time at which each click was heard.
final class Clicks {
  /// The width of a click's bell-shaped curve, in microseconds.
  let width: Double
  var origin = 0.0
  var beatMicros = 500_000.0
  /// The expected time from a beat to its sound.
  var delay: () -> Double = { 0 }
  /// Clicks after this time are measured.
  var since = 0.0
  private var found: [Int: (energy: Double, moment: Double)] = [:]
  /// The energy of sound that belongs to no click.
  private(set) var stray = 0.0

  init(width: Double = 150) { self.width = width }

  func sound(at time: Double) -> SIMD2<Float> {
    let beats = (time - origin) / beatMicros
    // Round to the nearest beat, also before beat 0, without a call, because this line runs a hundred million
    // times.
    let apart = (beats - Double(Int(beats + 1024.5) - 1024)) * beatMicros / width
    guard abs(apart) < 6 else { return SIMD2(0, 0) }
    let level = Float(exp(-apart * apart / 2) * 0.5)
    return SIMD2(level, level)
  }

  func listen(_ time: Double, _ value: SIMD2<Float>) {
    guard abs(value.x) > 0.001, time > since else { return }
    let heard = time - delay()
    let beat = ((heard - origin) / beatMicros).rounded()
    let apart = heard - origin - beat * beatMicros
    let energy = Double(value.x * value.x)
    guard abs(apart) < 20_000 else {
      stray += energy
      return
    }
    let before = found[Int(beat)] ?? (0, 0)
    found[Int(beat)] = (before.energy + energy, before.moment + energy * apart)
  }

  /// How late each click was, in microseconds and in order. Clicks at the edges of the recording and damaged
  /// clicks are left out.
  var errors: [Double] {
    let all = found.sorted { $0.key < $1.key }.dropFirst().dropLast().map(\.value)
    guard !all.isEmpty else { return [] }
    let usual = all.map(\.energy).sorted()[all.count / 2]
    let whole = all.filter { abs($0.energy / usual - 1) < 0.02 }
    damaged = all.count - whole.count
    return whole.map { $0.moment / $0.energy }
  }

  /// How late each click was, in frames of 48 kHz.
  var framesLate: [Double] { errors.map { $0 / (1e6 / 48_000) } }

  /// The number of damaged clicks that the last call of `errors` left out.
  private(set) var damaged = 0
}
