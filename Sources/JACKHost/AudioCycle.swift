// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import CJACK
import HostSync

/// What only the audio thread touches while a client is active: `HostSync` and the way to its cycle.
struct AudioCycle: ~Copyable {
  /// At most so many messages are taken from `control` in one cycle.
  private static var controlLimit: UInt32 {
    @_noLocks @_noAllocation get { 256 }
  }

  private let client: OpaquePointer
  private let ports: PortHandles
  private let shared: UnsafePointer<SharedState>
  private var sync: HostSync
  private var sampleRate: UInt32
  private var frames: UInt32 = 0
  /// PipeWire's timebase: `JACKImplementation.showsTimebaseLate`.
  private let isBBTLate: Bool

  init(client: OpaquePointer, ports: PortHandles, shared: UnsafePointer<SharedState>, sampleRate: UInt32) {
    self.client = client
    self.ports = ports
    self.shared = shared
    self.sampleRate = sampleRate
    sync = HostSync()
    isBBTLate = JACKImplementation.loaded.showsTimebaseLate
  }

  @_noLocks @_noAllocation
  mutating func run(_ frames: UInt32) {
    let rate = shared.pointee.board.sampleRate
    if rate != sampleRate {
      // All that was remembered counted in frames of another length.
      sampleRate = rate
      sync = HostSync()
    }
    self.frames = frames
    var cycle = gather(frames)
    hearClock(frames, into: &cycle.received)
    var outputs = Outputs(
      click1: audio(ports.click1, frames), click2: audio(ports.click2, frames),
      pulse: audio(ports.pulse, frames), run: audio(ports.run, frames))
    sync.run(cycle, into: &outputs)
    write(outputs.events, frames)
    readControl(frames)
    // Full means that nobody looks: the queue counts it, and the next change comes anyway.
    if let proposal = outputs.proposal { _ = shared.pointee.proposals.push(proposal) }
    shared.pointee.report.publish(outputs.report)
    shared.pointee.cycles.wrappingAdd(1, ordering: .relaxed)
  }

  /// Everything that is true in this cycle, read once.
  @_noLocks @_noAllocation
  private func gather(_ frames: UInt32) -> Cycle {
    var position = jack_position_t()
    let state = jack_transport_query(client, &position)
    return gather(
      frames, Transport(state: state, position: position, bbtAge: isBBTLate ? frames : 0), position)
  }

  @_noLocks @_noAllocation
  private func gather(_ frames: UInt32, _ transport: Transport, _ position: jack_position_t) -> Cycle {
    var frame: UInt32 = 0, current: UInt64 = 0, next: UInt64 = 0, period: Float = 0
    let result = jack_get_cycle_times(client, &frame, &current, &next, &period)
    let times = RawTimes(
      frame: jack_last_frame_time(client), wakeMicros: position.usecs, isPairValid: result == 0,
      currentMicros: current, nextMicros: next,
      xruns: UInt32(truncatingIfNeeded: shared.pointee.board.xrunCount))
    return Cycle(
      frames: frames, sampleRate: sampleRate, times: times,
      transport: transport, latencies: shared.pointee.latencies.read(),
      clock: shared.pointee.clockMap.read(), session: shared.pointee.session.read(),
      settings: shared.pointee.settings.read(), sounds: shared.pointee.sounds.read(),
      isFreewheeling: shared.pointee.board.isFreewheeling, relocation: shared.pointee.relocation.read())
  }

  /// Whether the transport may roll in the next cycle.
  @_noLocks @_noAllocation
  mutating func mayRoll(_ state: jack_transport_state_t, _ position: jack_position_t) -> Bool {
    sync.mayRoll(gather(frames, Transport(state: state, position: position), position))
  }

  /// As timebase master: the bar and beat of the cycle after this one.
  @_noLocks @_noAllocation
  mutating func writeBBT(
    _ state: jack_transport_state_t, _ frames: UInt32, _ position: inout jack_position_t, isNew: Bool
  ) {
    let transport = Transport(state: state, position: position)
    var next = position.frame
    // PipeWire asks with this cycle's frame and shows the answer in the next.
    if isBBTLate, case .rolling = transport.state { next = next &+ frames }
    let bbt = sync.bbt(
      gather(frames, transport, position), nextFrame: next, requested: isNew ? transport.bbt : nil)
    position.valid = JackPositionBBT
    position.set(bbt)
    shared.pointee.timebaseCalls.wrappingAdd(1, ordering: .relaxed)
  }

  @_noLocks @_noAllocation
  private func audio(_ port: OpaquePointer, _ frames: UInt32) -> AudioBuffer {
    let buffer = jack_port_get_buffer(port, frames)
    return AudioBuffer(buffer?.assumingMemoryBound(to: Float.self), frames: frames)
  }

  @_noLocks @_noAllocation
  private func write(_ events: borrowing MIDIEvents, _ frames: UInt32) {
    guard let buffer = jack_port_get_buffer(ports.clock, frames) else { return }
    jack_midi_clear_buffer(buffer)
    for index in 0..<events.count {
      let event = events[index]
      guard let bytes = jack_midi_event_reserve(buffer, event.frame, Int(event.count)) else { return }
      for place in 0..<Int(event.count) { bytes[place] = event.byte(place) }
    }
  }

  /// A sequencer's clock, for the cycle itself.
  @_noLocks @_noAllocation
  private func hearClock(_ frames: UInt32, into received: inout MIDIEvents) {
    guard let buffer = jack_port_get_buffer(ports.control, frames) else { return }
    for index in 0..<min(jack_midi_get_event_count(buffer), Self.controlLimit) {
      var event = jack_midi_event_t()
      guard jack_midi_event_get(&event, buffer, index) == 0, let bytes = event.buffer else { continue }
      if event.size == 1, MIDI.isClock(bytes[0]) {
        received.insert(MIDIEvent(frame: event.time, status: bytes[0]))
      } else if event.size == 3, bytes[0] == MIDI.songPosition {
        let position = UInt16(bytes[1] & 0x7F) | UInt16(bytes[2] & 0x7F) << 7
        received.insert(MIDIEvent(frame: event.time, position: position))
      }
    }
  }

  /// Keys, knobs, pedals and transport keys, for the control thread; not what only ticks.
  @_noLocks @_noAllocation
  private func readControl(_ frames: UInt32) {
    guard let buffer = jack_port_get_buffer(ports.control, frames) else { return }
    for index in 0..<min(jack_midi_get_event_count(buffer), Self.controlLimit) {
      var event = jack_midi_event_t()
      guard jack_midi_event_get(&event, buffer, index) == 0, let bytes = event.buffer, event.size > 0,
        !MIDI.isTicking(bytes[0])
      else { continue }
      guard event.size <= ControlMessage.longest else {
        shared.pointee.oversized.wrappingAdd(1, ordering: .relaxed)
        continue
      }
      shared.pointee.control.push(
        ControlMessage(bytes, count: event.size, at: sync.arrival(ofFrame: event.time)))
    }
  }
}

/// JACK's thread enters here. Always 0: anything else ends JACK's thread for this client.
@_noLocks @_noAllocation
func runAudioCycle(_ frames: UInt32, _ context: UnsafeMutableRawPointer?) -> Int32 {
  context!.assumingMemoryBound(to: AudioCycle.self).pointee.run(frames)
  return 0
}

/// The slow-sync client's question, in the same thread.
@_noLocks @_noAllocation
func askAudioCycle(
  _ state: jack_transport_state_t, _ position: UnsafeMutablePointer<jack_position_t>?,
  _ context: UnsafeMutableRawPointer?
) -> Int32 {
  guard let position else { return 1 }
  return context!.assumingMemoryBound(to: AudioCycle.self).pointee.mayRoll(state, position.pointee) ? 1 : 0
}

/// The timebase master's duty, in the same thread.
@_noLocks @_noAllocation
func writeTimebase(
  _ state: jack_transport_state_t, _ frames: UInt32, _ position: UnsafeMutablePointer<jack_position_t>?,
  _ isNew: Int32, _ context: UnsafeMutableRawPointer?
) {
  guard let position else { return }
  context!.assumingMemoryBound(to: AudioCycle.self).pointee.writeBBT(
    state, frames, &position.pointee, isNew: isNew != 0)
}
