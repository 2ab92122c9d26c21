// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import LinkBeatMath
import TactusChoices
import TactusSync

/// The source of a `Cycle`: JACK's answers, its ports' buffers, and the values that other threads published.
struct CycleSource {
  /// The longest period, in frames. No server has longer periods, so a larger value from JACK is invalid.
  static var longestPeriod: UInt32 { 65_536 }

  let client: OpaquePointer
  let ports: PortHandles
  let shared: UnsafePointer<SharedState>
  /// Whether JACK shows bar and beat a period late, as PipeWire does: `JACKImplementation.showsTimebaseLate`.
  let isBBTLate: Bool

  init(client: OpaquePointer, ports: PortHandles, shared: UnsafePointer<SharedState>) {
    self.client = client
    self.ports = ports
    self.shared = shared
    isBBTLate = JACKImplementation.loaded.showsTimebaseLate
  }

  /// The frame for which the timebase master must now write bar and beat. PipeWire asks with the present
  /// cycle's frame and shows the answer in the next cycle.
  /// - Parameters:
  ///   - told: the cycle's length as JACK's timebase callback gives it. PipeWire before March 2026 may give
  ///     -1; then `ofCycle` is used.
  ///   - ofCycle: the cycle's length as the process callback got it.
  @_noLocks @_noAllocation
  static func frameToShow(_ transport: Transport, told: UInt32, ofCycle: UInt32, isLate: Bool) -> UInt32 {
    guard isLate, case .rolling = transport.state else { return transport.frame }
    return transport.frame &+ (told > longestPeriod ? ofCycle : told)
  }

  /// The cycle that holds before the first call of the process callback.
  var noCycle: Cycle {
    Cycle(
      frames: 0, sampleRate: 0,
      times: RawTimes(frame: 0, wakeMicros: 0, isPairValid: false, currentMicros: 0, nextMicros: 0),
      transport: Transport(state: .stopped, frame: 0), latencies: shared.pointee.latencies.read(),
      clock: shared.pointee.clockMap.read(), session: shared.pointee.session.read(),
      settings: shared.pointee.settings.read(), settingsNumber: 0, sounds: shared.pointee.sounds.read(),
      relocation: shared.pointee.relocation.read())
  }

  /// Fills in the cycle, and asks JACK for the transport.
  func read(_ cycle: inout Cycle, _ frames: UInt32, sampleRate: UInt32) {
    var position = jack_position_t()
    let state = jack_transport_query(client, &position)
    let transport = Transport(state: state, position: position, bbtAge: isBBTLate ? frames : 0)
    read(&cycle, frames, sampleRate: sampleRate, transport, wokeAt: position.usecs)
  }

  /// Fills in the cycle for a caller that knows the transport already. Copies only the published values that
  /// have changed since the last cycle, because all of them together are kilobytes.
  func read(
    _ cycle: inout Cycle, _ frames: UInt32, sampleRate: UInt32, _ transport: Transport, wokeAt: UInt64
  ) {
    var frame: UInt32 = 0, current: UInt64 = 0, next: UInt64 = 0, period: Float = 0
    let result = jack_get_cycle_times(client, &frame, &current, &next, &period)
    cycle.frames = frames
    cycle.sampleRate = sampleRate
    cycle.times = RawTimes(
      frame: jack_last_frame_time(client), wakeMicros: wokeAt, isPairValid: result == 0,
      currentMicros: current, nextMicros: next,
      xruns: UInt32(truncatingIfNeeded: shared.pointee.board.xrunCount))
    cycle.transport = transport
    cycle.isFreewheeling = shared.pointee.board.isFreewheeling
    cycle.clockConnections = shared.pointee.clockConnections.load(ordering: .relaxed)
    cycle.ownDelay = Micros(shared.pointee.ownDelay.load(ordering: .relaxed))
    cycle.clients = shared.pointee.board.clientCount
    if let latencies = shared.pointee.latencies.readIfNew() { cycle.latencies = latencies }
    if let clock = shared.pointee.clockMap.readIfNew() { cycle.clock = clock }
    // Read the settings before the session. A queued change leaves the settings when the session has adopted
    // it, so this order never misses the change.
    if let settings = shared.pointee.settings.readIfNew() { cycle.settings = settings }
    if let session = shared.pointee.session.readIfNew() { cycle.update(session) }
    if let sounds = shared.pointee.sounds.readIfNew() { cycle.sounds = sounds }
    if let relocation = shared.pointee.relocation.readIfNew() { cycle.relocation = relocation }
    cycle.settingsNumber = UInt32(shared.pointee.settings.readings)
    if shared.pointee.isLeaving.load(ordering: .relaxed) {
      cycle.settings.clock.isOn = false
      cycle.settingsNumber = .max
    }
  }

  func buffer(_ port: OpaquePointer?, _ frames: UInt32) -> UnsafeMutableRawPointer? {
    jack_port_get_buffer(port, frames)
  }

  /// Writes a cycle's messages into a port's buffer, and returns the number of messages that did not fit.
  /// `events` is only read; `inout` avoids a copy of 1.5 kB for each port.
  func write(_ events: inout MIDIEvents, to port: OpaquePointer?, _ frames: UInt32) -> Int {
    guard let buffer = buffer(port, frames) else { return 0 }
    jack_midi_clear_buffer(buffer)
    for index in 0..<events.count {
      let event = events[index]
      guard let bytes = jack_midi_event_reserve(buffer, event.frame, Int(event.count)) else {
        return events.count - index
      }
      for place in 0..<Int(event.count) { bytes[place] = event.byte(place) }
    }
    return 0
  }

  func audio(_ port: OpaquePointer?, _ frames: UInt32) -> AudioBuffer {
    AudioBuffer(buffer(port, frames)?.assumingMemoryBound(to: Float.self), frames: frames)
  }
}

extension jack_position_t {
  mutating func set(_ bbt: BBT) {
    bar = bbt.bar
    beat = bbt.beat
    tick = bbt.tick
    bar_start_tick = bbt.barStartTick
    beats_per_bar = bbt.beatsPerBar
    beat_type = bbt.beatType
    ticks_per_beat = bbt.ticksPerBeat
    beats_per_minute = bbt.beatsPerMinute
  }
}

extension Transport {
  init(state: jack_transport_state_t, position: jack_position_t, bbtAge: UInt32 = 0) {
    let known: State =
      switch state {
      case JackTransportStopped: .stopped
      case JackTransportRolling, JackTransportLooping: .rolling
      default: .starting  // Starting, and jack2's "net starting"
      }
    var bbt: BBT?
    if position.valid.rawValue & JackPositionBBT.rawValue != 0 {
      bbt = BBT(
        bar: position.bar, beat: position.beat, tick: position.tick, barStartTick: position.bar_start_tick,
        beatsPerBar: position.beats_per_bar, beatType: position.beat_type,
        ticksPerBeat: position.ticks_per_beat, beatsPerMinute: position.beats_per_minute)
      var shown = position
      let tick = cjack_shown_tick(&shown)
      if tick >= 0 { bbt?.fineTick = tick }
    }
    self.init(state: known, frame: position.frame, bbt: bbt, bbtAge: bbtAge)
  }
}
