// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import LinkAudioLanes
import LinkAudioPath
import LinkBeatMath
import TactusChoices
import TactusSync

/// The channels of Link Audio as the audio thread sees them. The control thread replaces the table as a
/// whole, and the audio thread never changes it. [audio]
struct ChannelTable: BitwiseCopyable {
  static var limit: Int { 32 }

  /// Each published table has a new number.
  var number: UInt32 = 0
  var sentCount = 0
  var receivedCount = 0
  var sent = InlineArray<32, SentPorts>(repeating: SentPorts())
  var received = InlineArray<32, ReceivedPorts>(repeating: ReceivedPorts())
}

/// A channel that we send: the audio at these ports goes into the channel's lane.
struct SentPorts: BitwiseCopyable {
  var end: SendEnd?
  var left: OpaquePointer?
  /// The right port; nil: the channel is mono.
  var right: OpaquePointer?
  /// JACK's capture latency of the ports, in frames.
  var latency: UInt32 = 0

  func record(_ cycle: inout Cycle, _ now: CycleStamp) {
    guard let end, end.isWanted, !cycle.isFreewheeling, let left = floats(left, cycle.frames) else { return }
    let recording = Recording(
      frames: Int(now.frames), sampleRate: now.sampleRate, start: now.due,
      frameMicros: now.heard.frameMicros, captureFrames: Double(latency),
      offset: -Double(cycle.settings.audio.sendOffset.count), grid: SessionGrid(now))
    end.send(
      recording, left: UnsafePointer(left), right: floats(right, cycle.frames).map { UnsafePointer($0) })
  }
}

/// A channel that we receive: the audio of the channel's lane goes to these ports.
struct ReceivedPorts: BitwiseCopyable {
  var end: ReceiveEnd?
  var left: OpaquePointer?
  var right: OpaquePointer?
  /// JACK's playback latency of the ports, in frames.
  var latency: UInt32 = 0
  /// The channel's delay; nil: the delay from the settings.
  var delay: AudioDelay?

  func play(_ cycle: inout Cycle, _ now: CycleStamp) {
    guard let left = floats(left, cycle.frames), let right = floats(right, cycle.frames) else { return }
    fill(left, right, &cycle, now)
  }

  func fill(
    _ left: UnsafeMutablePointer<Float>, _ right: UnsafeMutablePointer<Float>, _ cycle: inout Cycle,
    _ now: CycleStamp
  ) {
    let frames = Int(cycle.frames)
    guard let end else {
      // The channel has gone. Without these lines the buffers would still hold the channel's last audio.
      left.update(repeating: 0, count: frames)
      right.update(repeating: 0, count: frames)
      return
    }
    guard !cycle.isFreewheeling else { return end.skip(frames: frames, left: left, right: right) }
    let frameMicros = now.heard.frameMicros, settings = cycle.settings.audio
    let hearing = OutputPeriod(
      frames: frames, sampleRate: now.sampleRate, start: now.due, frameMicros: frameMicros,
      latencyMicros: Double(latency) * frameMicros + Double(settings.receiveOffset.count),
      grid: SessionGrid(now))
    end.render(
      hearing, delay: PlayoutDelay(delay ?? settings.delay, cycle.settings.meter, now), left: left,
      right: right)
  }
}

private func floats(_ port: OpaquePointer?, _ frames: UInt32) -> UnsafeMutablePointer<Float>? {
  guard let port else { return nil }
  return jack_port_get_buffer(port, frames)?.assumingMemoryBound(to: Float.self)
}

extension SessionGrid {
  fileprivate init(_ now: CycleStamp) {
    self.init(session: now.session, origin: now.origin, beatMicros: now.originMicros)
  }
}

extension PlayoutDelay {
  init(_ delay: AudioDelay, _ meter: Meter, _ now: CycleStamp) {
    switch delay {
    case .auto: self = .standard
    case .time(let micros): self = .fixed(Double(micros.count))
    case .beats(let beats): self = .beats(Int(beats))
    case .bars(let bars):
      let beats = Double(bars) * meter.length.value
      let whole = Int(beats)
      self = Double(whole) == beats ? .beats(whole) : .fixed(beats * now.originMicros)
    }
  }
}
