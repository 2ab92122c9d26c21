// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Link
import LinkAudio
import LinkAudioLanes
import LinkAudioPath
import LinkBeatMath
import LinkSystem
import Synchronization

/// A simulated sound card. Its periods are exactly on time, and its thread computes each as soon as it can.
///
/// The card sends a short pulse on every beat, exact to a fraction of a frame, or a tone. It finds the pulses
/// in the sound that it plays, and records this sound for a requested time.
final class Card: Sendable {
  static let frames = 256
  let sampleRate: UInt32
  private let frameMicros: Double
  private let link: Link
  private let state = Mutex(State())

  struct State {
    var sent: [SendEnd] = []
    var played: (end: ReceiveEnd, delay: PlayoutDelay)?
    /// Channels that are received, but whose pulses are not searched for.
    var others: [ReceiveEnd] = []
    var ear = Ear()
    var isTone = false
    /// The recorded frames, and how many frames to record.
    var kept: [Float] = []
    var wanted = 0
    var isOver = false
  }

  init(_ link: Link, sampleRate: UInt32, ppm: Double = 0) throws {
    self.link = link
    self.sampleRate = sampleRate
    frameMicros = 1e6 / Double(sampleRate) * (1 + ppm * 1e-6)
    _ = try Thread("card") { [self] in run() }
  }

  func send(_ ends: [SendEnd]) { state.withLock { $0.sent = ends } }

  func play(_ end: ReceiveEnd?, _ delay: PlayoutDelay) {
    state.withLock {
      $0.played = end.map { ($0, delay) }
      $0.ear = Ear()
    }
  }

  func playBeside(_ ends: [ReceiveEnd]) { state.withLock { $0.others = ends } }

  /// How far each pulse since the last call was from the beat, in frames. The delay of the channel is
  /// added to the beat.
  func takeHeard() -> [Double] {
    state.withLock { state in
      defer { state.ear.heard.removeAll() }
      return state.ear.heard
    }
  }

  /// Sends 1 kHz, nearly full scale, instead of pulses.
  func sendTone() { state.withLock { $0.isTone = true } }

  /// Records the next `frames` frames that the card plays.
  func keep(_ frames: Int) -> [Float] {
    state.withLock { ($0.kept, $0.wanted) = ([], frames) }
    while state.withLock({ $0.kept.count < $0.wanted && !$0.isOver }) { usleep(10_000) }
    return state.withLock { $0.kept }
  }

  func end() { state.withLock { $0.isOver = true } }

  private func run() {
    // Ask for real-time priority, as JACK's thread does, if the user may have it: a real sound card
    // does not wait.
    var urgency = sched_param()
    urgency.sched_priority = 10
    sched_setscheduler(0, SCHED_FIFO, &urgency)
    let origin = Double(Link.clock().count)
    var left = [Float](repeating: 0, count: Self.frames)
    var right = left
    var number = 0
    while true {
      let start = origin + Double(number * Self.frames) * frameMicros
      let wait = start - Double(Link.clock().count)
      if wait > 0 { usleep(UInt32(wait)) }
      let grid = SessionGrid(link.captureAppState())
      let isOver = state.withLock { state in
        send(state, grid, start, &left)
        play(&state, grid, start, &left, &right)
        return state.isOver
      }
      if isOver { return }
      number += 1
    }
  }

  private func send(_ state: State, _ grid: SessionGrid, _ start: Double, _ buffer: inout [Float]) {
    guard !state.sent.isEmpty else { return }
    for frame in 0..<Self.frames {
      let time = start + Double(frame) * frameMicros
      if state.isTone {
        buffer[frame] = Float(0.99 * sin(time.truncatingRemainder(dividingBy: 1000) / 1000 * 2 * .pi))
        continue
      }
      let beat = (time - grid.origin) / grid.beatMicros
      let away = (beat - beat.rounded()) * grid.beatMicros / Pulse.micros
      buffer[frame] = Pulse.value(at: away)
    }
    let recording = Recording(
      frames: Self.frames, sampleRate: sampleRate, start: start, frameMicros: frameMicros, captureFrames: 0,
      offset: 0, grid: grid)
    for end in state.sent { end.send(recording, left: buffer, right: nil) }
  }

  private func play(
    _ state: inout State, _ grid: SessionGrid, _ start: Double, _ left: inout [Float], _ right: inout [Float]
  ) {
    let hearing = OutputPeriod(
      frames: Self.frames, sampleRate: sampleRate, start: start, frameMicros: frameMicros, latencyMicros: 0,
      grid: grid)
    left.withUnsafeMutableBufferPointer { left in
      right.withUnsafeMutableBufferPointer { right in
        for end in state.others {
          end.render(hearing, delay: .standard, left: left.baseAddress!, right: right.baseAddress!)
        }
      }
    }
    guard let (end, delay) = state.played else { return }
    left.withUnsafeMutableBufferPointer { left in
      right.withUnsafeMutableBufferPointer { right in
        end.render(hearing, delay: delay, left: left.baseAddress!, right: right.baseAddress!)
      }
    }
    if state.kept.count < state.wanted { state.kept += left.prefix(state.wanted - state.kept.count) }
    let late =
      switch delay {
      case .fixed(let micros): micros
      case .beats, .adaptive: 0.0
      }
    for frame in 0..<Self.frames {
      let time = start + Double(frame) * frameMicros
      guard let middle = state.ear.receive(left[frame], at: time) else { continue }
      let beat = (middle - late - grid.origin) / grid.beatMicros
      state.ear.heard.append((beat - beat.rounded()) * grid.beatMicros / frameMicros)
    }
  }
}

/// A squared half cosine: its middle can be found to a hundredth of a frame.
enum Pulse {
  /// Microseconds from the pulse's middle to its end.
  static let micros = 600.0

  /// The value at a distance `away` from the middle, in half lengths of the pulse.
  static func value(at away: Double) -> Float {
    abs(away) >= 1 ? 0 : Float(0.25 * (1 + cos(away * .pi)))
  }
}

/// Finds the pulses in the sound that the card plays.
struct Ear {
  var heard: [Double] = []
  private var mass = 0.0
  private var moment = 0.0
  private var quiet = 0

  /// Returns the middle of a pulse that has just ended.
  mutating func receive(_ sample: Float, at time: Double) -> Double? {
    let loud = Double(abs(sample))
    if loud > 0.01 {
      if mass == 0 { moment = 0 }
      mass += loud
      moment += loud * time
      quiet = 0
    } else if mass > 0 {
      quiet += 1
    }
    guard quiet == 16 else { return nil }
    defer { (mass, moment, quiet) = (0, 0, 0) }
    // Ignore fragments of a pulse.
    return mass > 5 ? moment / mass : nil
  }
}
