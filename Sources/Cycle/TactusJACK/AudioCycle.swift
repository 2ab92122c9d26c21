// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import LinkBeatMath
import TactusChoices
import TactusSync

/// The state that only the audio thread touches while a client is active: `HostSync`, and the source of its
/// cycles.
///
/// An `AudioCycle` has 70 KB, and Swift would copy all of it for each call of a method that is not
/// `mutating`. So every method is `mutating`, or belongs to the small `CycleSource`.
struct AudioCycle: ~Copyable {
  /// The greatest number of messages that one cycle reads from the port `control`.
  private static var controlLimit: UInt32 { 256 }

  let source: CycleSource
  var sync: HostSync
  private var cycle: Cycle
  private var outputs: Outputs
  private var sampleRate: UInt32
  private var frames: UInt32 = 0
  /// The wake-up time of the last cycle, in microseconds, and the cycle's first frame.
  private var last: (wake: UInt64, frame: UInt32) = (.max, 0)
  /// The counts that each report adds to its own: those from before this server and this sample rate, and the
  /// number of MIDI messages that the ports have lost since then.
  private var before: Report.Counts
  private var channels = ChannelTable()
  var own = OutputTable()
  var ownEvents = MIDIEvents()
  var figures = OutputFigures()
  /// The number of frames since `figures` was published.
  var figuresAge: UInt32 = 0

  init(
    client: OpaquePointer, ports: PortHandles, shared: UnsafePointer<SharedState>, sampleRate: UInt32,
    after before: Report
  ) {
    self.before = before.counts
    source = CycleSource(client: client, ports: ports, shared: shared)
    cycle = source.noCycle
    self.sampleRate = sampleRate
    sync = HostSync(machinesMayPlay: shared.pointee.cycles.load(ordering: .relaxed) > 0, after: before)
    outputs = Outputs()
    outputs.report = before
  }

  mutating func run(_ frames: UInt32) {
    let rate = source.shared.pointee.board.sampleRate
    if rate != sampleRate { restart(rate) }
    self.frames = frames
    let control = source.buffer(source.ports[.control], frames)
    receiveClock(control)
    var number = 0
    while let port = Port.number(number) {
      if port.isAudible { outputs[port] = source.audio(source.ports[port], frames) }
      number += 1
    }
    source.read(&cycle, frames, sampleRate: sampleRate)
    noteLateness(cycle.times)
    sync.run(&cycle, into: &outputs)
    countLost(source.write(&outputs.events, to: source.ports[.clock], frames))
    playOutputs(frames)
    carryChannels()
    readControl(control)
    // If the queue is full, its reader is late. The remaining proposals wait for the next cycle.
    while let proposal = outputs.proposals.first, source.shared.pointee.proposals.push(proposal) {
      outputs.proposals.removeFirst()
    }
    outputs.report.countOn(from: before)
    source.shared.pointee.report.publish(outputs.report)
    source.shared.pointee.cycles.wrappingAdd(1, ordering: .relaxed)
  }

  /// Replaces all state when the sample rate changes, because the state is counted in frames of the old
  /// length. Never inlined: a new `HostSync` in the stack frame of `run` would put each cycle's data tens of
  /// kilobytes away from the stack that libjack has just used.
  @inline(never)
  private mutating func restart(_ rate: UInt32) {
    sampleRate = rate
    sync = HostSync(machinesMayPlay: true, after: outputs.report)
    before = outputs.report.counts
  }

  /// Writes the audio of received channels into their ports, and records the audio of sent channels from
  /// their ports.
  private mutating func carryChannels() {
    if let table = source.shared.pointee.channels.readIfNew() {
      channels = table
      source.shared.pointee.channelsSeen.store(table.number, ordering: .releasing)
    }
    guard cycle.frames > 0, cycle.sampleRate > 0 else { return }
    var place = 0
    while place < channels.receivedCount {
      channels.received[place].play(&cycle, outputs.report.moment)
      place += 1
    }
    place = 0
    while place < channels.sentCount {
      channels.sent[place].record(&cycle, outputs.report.moment)
      place += 1
    }
  }

  /// Reports a driver that woke far too late although no frames are missing. The control thread counts this
  /// wake-up as an xrun, unless JACK has reported an xrun for it.
  private mutating func noteLateness(_ times: RawTimes) {
    let period = UInt64(frames) * 1_000_000 / UInt64(max(1, sampleRate))
    if last.wake < times.wakeMicros, times.frame &- last.frame == frames,
      times.wakeMicros - last.wake > 2 * period + 20_000
    {
      source.shared.pointee.board.post(.lateness)
    }
    last = (times.wakeMicros, times.frame)
  }

  /// Whether the transport may roll in the next cycle.
  mutating func mayRoll(_ state: jack_transport_state_t, _ position: jack_position_t) -> Bool {
    source.read(
      &cycle, frames, sampleRate: sampleRate, Transport(state: state, position: position),
      wokeAt: position.usecs)
    return sync.mayRoll(&cycle)
  }

  /// Writes, as timebase master, the bar and beat of the cycle after this one.
  mutating func writeBBT(
    _ state: jack_transport_state_t, _ frames: UInt32, _ position: inout jack_position_t, isNew: Bool
  ) {
    let transport = Transport(state: state, position: position)
    let next = CycleSource.frameToShow(
      transport, told: frames, ofCycle: self.frames, isLate: source.isBBTLate)
    guard let bbt = sync.bbt(nextFrame: next, requested: isNew ? transport.bbt : nil) else { return }
    position.valid = JackPositionBBT
    position.set(bbt)
    if let tick = bbt.fineTick { cjack_show_tick(&position, tick) }
    source.shared.pointee.timebaseCalls.wrappingAdd(1, ordering: .relaxed)
  }

  mutating func countLost(_ count: Int) { before.lostMIDI &+= UInt64(count) }

  /// Passes a sequencer's MIDI clock to `HostSync`.
  private mutating func receiveClock(_ buffer: UnsafeMutableRawPointer?) {
    guard let buffer else { return }
    for index in 0..<min(jack_midi_get_event_count(buffer), Self.controlLimit) {
      var event = jack_midi_event_t()
      guard jack_midi_event_get(&event, buffer, index) == 0, let bytes = event.buffer else { continue }
      if event.size == 1, MIDI.isClock(bytes[0]) {
        sync.receive(MIDIEvent(frame: event.time, status: bytes[0]))
      } else if event.size == 3, bytes[0] == MIDI.songPosition {
        let position = UInt16(bytes[1] & 0x7F) | UInt16(bytes[2] & 0x7F) << 7
        sync.receive(MIDIEvent(frame: event.time, position: position))
      }
    }
  }

  /// Passes the MIDI messages of keys, knobs, pedals and transport keys to the control thread. Leaves out
  /// clock ticks, and messages that are longer than `ControlMessage.longest`.
  private mutating func readControl(_ buffer: UnsafeMutableRawPointer?) {
    guard let buffer else { return }
    let count = jack_midi_get_event_count(buffer)
    before.lostMIDI &+= UInt64(count - min(count, Self.controlLimit))
    for index in 0..<min(count, Self.controlLimit) {
      var event = jack_midi_event_t()
      guard jack_midi_event_get(&event, buffer, index) == 0, let bytes = event.buffer, event.size > 0,
        event.size <= ControlMessage.longest, !MIDI.isTicking(bytes[0])
      else { continue }
      let moment = sync.arrival(ofFrame: event.time)
      if event.size == 1, sync.isEcho(bytes[0], at: moment) { continue }
      let message = ControlMessage(bytes, count: event.size, at: moment)
      if !source.shared.pointee.control.push(message) { before.lostMIDI &+= 1 }
    }
  }
}

/// The process callback. Always returns 0: anything else ends JACK's thread for this client.
@_noLocks @_noAllocation
func runAudioCycle(_ frames: UInt32, _ context: UnsafeMutableRawPointer?) -> Int32 {
  context!.assumingMemoryBound(to: AudioCycle.self).pointee.run(frames)
  return 0
}

/// The sync callback, on the thread of the process callback. Returns 1 if the transport may roll.
@_noLocks @_noAllocation
func askAudioCycle(
  _ state: jack_transport_state_t, _ position: UnsafeMutablePointer<jack_position_t>?,
  _ context: UnsafeMutableRawPointer?
) -> Int32 {
  guard let position else { return 1 }
  return context!.assumingMemoryBound(to: AudioCycle.self).pointee.mayRoll(state, position.pointee) ? 1 : 0
}

/// The timebase callback, on the thread of the process callback.
@_noLocks @_noAllocation
func writeTimebase(
  _ state: jack_transport_state_t, _ frames: UInt32, _ position: UnsafeMutablePointer<jack_position_t>?,
  _ isNew: Int32, _ context: UnsafeMutableRawPointer?
) {
  guard let position else { return }
  context!.assumingMemoryBound(to: AudioCycle.self).pointee.writeBBT(
    state, frames, &position.pointee, isNew: isNew != 0)
}
