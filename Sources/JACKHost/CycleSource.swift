// SPDX-License-Identifier: GPL-2.0-or-later
import CJACK
import Choices
import HostSync

/// Where a cycle comes from: JACK's answers, its ports' buffers, and what the other threads published.
struct CycleSource {
  let client: OpaquePointer
  let ports: PortHandles
  let shared: UnsafePointer<SharedState>
  /// PipeWire's timebase: `JACKImplementation.showsTimebaseLate`.
  let isBBTLate: Bool

  init(client: OpaquePointer, ports: PortHandles, shared: UnsafePointer<SharedState>) {
    self.client = client
    self.ports = ports
    self.shared = shared
    isBBTLate = JACKImplementation.loaded.showsTimebaseLate
  }

  /// Everything that is true in this cycle, read once.
  func cycle(_ frames: UInt32, sampleRate: UInt32) -> Cycle {
    var position = jack_position_t()
    let state = jack_transport_query(client, &position)
    return cycle(
      frames, sampleRate: sampleRate,
      Transport(state: state, position: position, bbtAge: isBBTLate ? frames : 0), wokeAt: position.usecs)
  }

  /// The same, when JACK has told of the transport already.
  func cycle(_ frames: UInt32, sampleRate: UInt32, _ transport: Transport, wokeAt: UInt64) -> Cycle {
    var frame: UInt32 = 0, current: UInt64 = 0, next: UInt64 = 0, period: Float = 0
    let result = jack_get_cycle_times(client, &frame, &current, &next, &period)
    let times = RawTimes(
      frame: jack_last_frame_time(client), wakeMicros: wokeAt, isPairValid: result == 0,
      currentMicros: current, nextMicros: next,
      xruns: UInt32(truncatingIfNeeded: shared.pointee.board.xrunCount))
    return Cycle(
      frames: frames, sampleRate: sampleRate, times: times,
      transport: transport, latencies: shared.pointee.latencies.read(),
      clock: shared.pointee.clockMap.read(), session: shared.pointee.session.read(),
      settings: shared.pointee.settings.read(), sounds: shared.pointee.sounds.read(),
      isFreewheeling: shared.pointee.board.isFreewheeling, relocation: shared.pointee.relocation.read())
  }

  func buffer(_ port: OpaquePointer?, _ frames: UInt32) -> UnsafeMutableRawPointer? {
    jack_port_get_buffer(port, frames)
  }

  func audio(_ port: OpaquePointer?, _ frames: UInt32) -> AudioBuffer {
    AudioBuffer(buffer(port, frames)?.assumingMemoryBound(to: Float.self), frames: frames)
  }
}
