// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import Glibc
import Synchronization

/// Plays clicks into an output and records an input. The delay of the clicks in the recording shows whether
/// the latencies that JACK reports are right.
///
/// A `Loopback` is a JACK client of its own, for a few seconds. The same frame number in the recording and in
/// the played signal means the same moment: JACK handed over both frames in one cycle. [control]
public final class Loopback {
  public struct Ports: Equatable, Sendable {
    public var output: String
    public var input: String

    public init(output: String, input: String) {
      self.output = output
      self.input = input
    }
  }

  public enum Failure: Error, Equatable {
    case jack(JACKError)
    case noPort(String)
    case notConnected(String, String)
  }

  private let client: JACKClient
  private let tape: UnsafeMutablePointer<LoopbackTape>
  public let clicks: LoopbackClicks
  public let sampleRate: Int
  /// The latencies that JACK reports, in frames.
  public private(set) var told: (playback: Int, capture: Int) = (0, 0)

  public init(_ ports: Ports, server: String?, seconds: Int) throws(Failure) {
    do throws(JACKError) {
      client = try JACKClient(name: "tactus-check", server: server)
    } catch {
      throw .jack(error)
    }
    sampleRate = Int(jack_get_sample_rate(client.handle))
    clicks = LoopbackClicks(sampleRate: sampleRate)
    for port in [ports.output, ports.input] where jack_port_by_name(client.handle, port) == nil {
      throw .noPort(port)
    }
    guard
      let output = jack_port_register(
        client.handle, "out", JACK_DEFAULT_AUDIO_TYPE, UInt(JackPortIsOutput.rawValue), 0),
      let input = jack_port_register(
        client.handle, "in", JACK_DEFAULT_AUDIO_TYPE, UInt(JackPortIsInput.rawValue), 0)
    else { throw .jack(.portRefused("in and out")) }
    tape = .allocate(capacity: 1)
    tape.initialize(
      to: LoopbackTape(
        output: output, input: input, clicks: clicks, frames: seconds * sampleRate))
    jack_set_process_callback(client.handle, playAndRecord, tape)
    let code = jack_activate(client.handle)
    guard code == 0 else { throw .jack(.activationRefused(code: code)) }
    let ours = client.name
    for (from, to) in [("\(ours):out", ports.output), (ports.input, "\(ours):in")] {
      let result = jack_connect(client.handle, from, to)
      guard result == 0 || result == EEXIST else { throw .notConnected(from, to) }
    }
    var range = jack_latency_range_t()
    jack_port_get_latency_range(output, JackPlaybackLatency, &range)
    told.playback = Int(range.max)
    jack_port_get_latency_range(input, JackCaptureLatency, &range)
    told.capture = Int(range.max)
    tape.pointee.isPlaying.store(true, ordering: .releasing)
  }

  deinit {
    jack_deactivate(client.handle)
    tape.pointee.free()
    tape.deinitialize(count: 1)
    tape.deallocate()
  }

  public var isOver: Bool { tape.pointee.isOver.load(ordering: .acquiring) }

  /// The return of each click; empty before the recording is over.
  public func returns() -> [LoopbackClicks.Return?] {
    guard isOver else { return [] }
    return clicks.returns(in: Array(tape.pointee.recording))
  }
}

/// The state of a `Loopback`'s audio thread. All its memory is allocated before the audio thread starts.
/// [audio]
struct LoopbackTape: ~Copyable {
  private let output: OpaquePointer
  private let input: OpaquePointer
  private let click: UnsafeMutableBufferPointer<Float>
  let recording: UnsafeMutableBufferPointer<Float>
  private let spacing: Int
  private var place = 0
  let isPlaying = Atomic(false)
  let isOver = Atomic(false)

  init(output: OpaquePointer, input: OpaquePointer, clicks: LoopbackClicks, frames: Int) {
    self.output = output
    self.input = input
    spacing = clicks.spacing
    click = .allocate(capacity: clicks.signal.count)
    _ = click.initialize(from: clicks.signal)
    recording = .allocate(capacity: frames)
    recording.initialize(repeating: 0)
  }

  /// Frees the memory. [control]
  mutating func free() {
    click.deallocate()
    recording.deallocate()
  }

  mutating func run(_ frames: UInt32) {
    guard let out = jack_port_get_buffer(output, frames)?.assumingMemoryBound(to: Float.self),
      let heard = jack_port_get_buffer(input, frames)?.assumingMemoryBound(to: Float.self)
    else { return }
    let plays = isPlaying.load(ordering: .acquiring)
    var frame = 0
    while frame < Int(frames) {
      out[frame] = 0
      if plays, place < recording.count {
        let phase = place % spacing
        if phase < click.count { out[frame] = click[phase] }
        recording[place] = heard[frame]
        place += 1
      }
      frame += 1
    }
    if place == recording.count { isOver.store(true, ordering: .releasing) }
  }
}

@_noLocks @_noAllocation
func playAndRecord(_ frames: UInt32, _ context: UnsafeMutableRawPointer?) -> Int32 {
  context?.assumingMemoryBound(to: LoopbackTape.self).pointee.run(frames)
  return 0
}

/// The click of a loopback test, and its detection in a recording, through loudspeakers and noise.
public struct LoopbackClicks: Sendable {
  public struct Return: Equatable, Sendable {
    /// The number of frames from the click to its return.
    public var delay: Int
    /// The recording's peak at the return; 1 is full scale.
    public var peak: Double
  }

  /// The lowest correlation with the click at which a sound counts as the click's return. A sound below this
  /// correlation is something else, or noise.
  static let leastLikeness = 0.5
  /// The lowest peak of a return (-60 dB). A quieter sound is crosstalk or noise, and came through no cable
  /// or loudspeaker.
  static let leastPeak = 0.001

  public let signal: [Float]
  /// The number of frames from one click to the next. The search for a click's return ends at the next click.
  public let spacing: Int

  public init(sampleRate: Int) {
    spacing = sampleRate / 2
    // 5 ms of noise with faded ends: it correlates with nothing else, and with itself at one delay only.
    let count = max(160, sampleRate / 200)
    var register: UInt32 = 0xACE1
    signal = (0..<count).map { frame in
      let bit = (register ^ (register >> 2) ^ (register >> 3) ^ (register >> 5)) & 1
      register = (register >> 1) | (bit << 15)
      let edge = min(frame + 1, count - frame, count / 8 + 1)
      return (bit == 1 ? 0.5 : -0.5) * Float(edge) / Float(count / 8 + 1)
    }
  }

  /// The returns; nil for a click that is not found. The last click is left out, since its return might be
  /// cut off.
  public func returns(in recording: [Float]) -> [Return?] {
    let starts = stride(from: 0, to: recording.count - spacing - signal.count + 1, by: spacing)
    return starts.map { find(in: recording, from: $0) }
  }

  private func find(in recording: [Float], from start: Int) -> Return? {
    let own = signal.reduce(0) { $0 + $1 * $1 }.squareRoot()
    return recording.withUnsafeBufferPointer { heard in
      signal.withUnsafeBufferPointer { click in
        var energy: Float = 0
        for frame in start..<start + click.count { energy += heard[frame] * heard[frame] }
        var best = (delay: 0, likeness: Float(0))
        for delay in 0..<spacing {
          let from = start + delay
          if energy > Self.leastEnergy {
            var sum: Float = 0
            for frame in 0..<click.count { sum += heard[from + frame] * click[frame] }
            // A cable may invert the polarity.
            let likeness = abs(sum) / (own * energy.squareRoot())
            if likeness > best.likeness { best = (delay, likeness) }
          }
          let (old, new) = (heard[from], from + click.count < heard.count ? heard[from + click.count] : 0)
          energy = max(0, energy - old * old + new * new)
        }
        let place = start + best.delay
        let peak = heard[place..<place + click.count].reduce(0) { max($0, abs($1)) }
        guard Double(best.likeness) >= Self.leastLikeness, Double(peak) >= Self.leastPeak else { return nil }
        return Return(delay: best.delay, peak: Double(peak))
      }
    }
  }

  /// The energy that rounding errors may leave in silence.
  private static let leastEnergy: Float = 1e-9
}
