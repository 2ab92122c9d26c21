// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import Glibc
import LinkBeatMath
import LinkHandoff
import Synchronization
import Testing

@testable import TactusJACK

/// A cycle as JACK shows it to any client.
struct SeenCycle: BitwiseCopyable, Sendable {
  /// The server's count of frames at the cycle's start. `due` is JACK's time for that frame.
  var number: UInt32 = 0
  var due: UInt64 = 0
  /// The microseconds from `due` until the callback ran. They grow when a server that stood still catches up.
  var late: Int64 = 0
  var frames: UInt32 = 0
  var state: UInt32 = 0
  /// The frame of the transport in this cycle.
  var frame: UInt32 = 0
  var isValid = false
  var bar: Int32 = 0, beat: Int32 = 0, tick: Int32 = 0
  var beatsPerBar: Float = 0
  var beatsPerMinute = 0.0, ticksPerBeat = 0.0, barStartTick = 0.0
  var fineTick: Double?

  var isRolling: Bool { state == JackTransportRolling.rawValue }
  var isStarting: Bool { state == JackTransportStarting.rawValue }
  /// The beats since bar 1, beat 1, tick 0. The tick is rounded down, so the true value is up to a tick
  /// greater.
  var beats: Double {
    Double(bar - 1) * Double(beatsPerBar) + Double(beat - 1) + Double(tick) / ticksPerBeat
  }
}

extension Sequence<SeenCycle> {
  /// The seconds in which the transport was starting, at 48 kHz.
  var secondsStarting: Double { reduce(0) { $0 + ($1.isStarting ? Double($1.frames) / 48_000 : 0) } }
}

extension Collection<SeenCycle> {
  /// The number of cycles that are missing between two neighbours of these, at one period. `counts`: the
  /// condition for both neighbours.
  func lostCycles(where counts: (SeenCycle) -> Bool = { _ in true }) -> Int {
    zip(self, dropFirst()).reduce(0) { sum, pair in
      guard counts(pair.0), counts(pair.1) else { return sum }
      let passed = Int(Int32(bitPattern: pair.1.number &- pair.0.number))
      return sum + Swift.max(0, passed / Int(pair.0.frames) - 1)
    }
  }
}

/// Another JACK client. It sees every cycle, presses play and stop, and can be a slow client and the timebase
/// master.
final class TransportWatch {
  /// The memory that the test and the audio thread share.
  fileprivate struct SharedMemory: ~Copyable {
    let client: OpaquePointer
    let cycles = SPSCQueue<SeenCycle>(capacity: 1 << 15)
    /// The number of cycles that the client takes to get ready.
    let hold = Atomic<Int>(0)
    let tempo = Atomic<UInt64>((100.0).bitPattern)
    let ticks = Atomic<Int>(960)
    var beats = 0.0
    var lastFrame: UInt32 = 0
    var waited = 0
  }

  private let client: JACKClient
  private let seat: UnsafeMutablePointer<SharedMemory>
  private(set) var seen: [SeenCycle] = []
  private var lastForgotten: SeenCycle?
  private var isOpen = true
  /// The number of times that this client asked for a stop. `stopsSeen` is the number of times that it saw
  /// the transport stop.
  private(set) var stopsAsked = 0, stopsSeen = 0
  private var wasMoving = false

  init(_ server: TestServer, isSlow: Bool = false) throws {
    client = try JACKClient(name: "watch", server: server.name)
    seat = .allocate(capacity: 1)
    seat.initialize(to: SharedMemory(client: client.handle))
    jack_set_process_callback(client.handle, watch, seat)
    if isSlow { jack_set_sync_callback(client.handle, takeTime, seat) }
    #expect(jack_activate(client.handle) == 0)
    // PipeWire drops a client's transport commands until the client is part of a driver's graph, which is a
    // while after its activation.
    for _ in 0..<500 where collected.isEmpty { usleep(10_000) }
    #expect(!seen.isEmpty)
    server.watch = self
  }

  deinit {
    jack_deactivate(client.handle)
    seat.deinitialize(count: 1)
    seat.deallocate()
  }

  var holdCycles: Int {
    get { seat.pointee.hold.load(ordering: .relaxed) }
    set { seat.pointee.hold.store(newValue, ordering: .relaxed) }
  }

  /// Sets JACK's timeout for slow clients as programs do that mistake the timeout's microseconds for another
  /// unit (facts: jack 4).
  func shortenSyncTimeout() {
    jack_set_sync_timeout(client.handle, TestServer.isPipeWire ? 30_000_000 : 30_000)
  }

  func play() { jack_transport_start(client.handle) }
  func stop() {
    stopsAsked += 1
    jack_transport_stop(client.handle)
  }
  func locate(_ frame: UInt32) { jack_transport_locate(client.handle, frame) }

  /// Locates in the way of programs that read the position, change its frame and send the position back.
  func locateByWhatIsShown(to frame: UInt32) {
    var position = jack_position_t()
    jack_transport_query(client.handle, &position)
    position.frame = frame
    #expect(jack_transport_reposition(client.handle, &position) == 0)
  }

  /// Asks the timebase master for a tempo, by repositioning the transport as Giada does.
  func reposition(_ frame: UInt32, tempo: Double) {
    var position = jack_position_t()
    position.frame = frame
    position.frame_rate = 48_000
    position.valid = JackPositionBBT
    position.bar = 1
    position.beat = 1
    position.beats_per_bar = 4
    position.beat_type = 4
    position.ticks_per_beat = 960
    position.beats_per_minute = tempo
    jack_transport_reposition(client.handle, &position)
  }

  /// The tempo that the watch shows as timebase master. A change of the tempo keeps the bar and beat.
  var tempo: Double {
    get { Double(bitPattern: seat.pointee.tempo.load(ordering: .relaxed)) }
    set { seat.pointee.tempo.store(newValue.bitPattern, ordering: .relaxed) }
  }

  /// Becomes timebase master in place of any other client, and counts bars of four beats from frame 0.
  func takeTimebase(tempo: Double, ticks: Int = 960, conditionally: Bool = false) {
    self.tempo = tempo
    seat.pointee.ticks.store(ticks, ordering: .relaxed)
    jack_set_timebase_callback(client.handle, conditionally ? 1 : 0, countBars, seat)
  }

  func releaseTimebase() { jack_release_timebase(client.handle) }

  func forget() {
    collect()
    lastForgotten = seen.last ?? lastForgotten
    seen = []
  }

  /// Moves new cycles from the audio thread's queue to `seen`.
  func collect() {
    while let cycle = seat.pointee.cycles.pop() {
      let isMoving = cycle.isStarting || cycle.isRolling
      if wasMoving, !isMoving { stopsSeen += 1 }
      wasMoving = isMoving
      seen.append(cycle)
    }
  }

  var collected: [SeenCycle] {
    collect()
    return seen
  }

  var last: SeenCycle {
    collect()
    return seen.last ?? lastForgotten ?? SeenCycle()
  }

  /// The states that the transport had, each with its frame and number of cycles.
  var summary: String {
    var parts: [(state: UInt32, frame: UInt32, count: Int)] = []
    for cycle in collected {
      let isSame = parts.last.map { $0.state == cycle.state && (cycle.isRolling || $0.frame == cycle.frame) }
      if isSame == true {
        parts[parts.count - 1].count += 1
      } else {
        parts.append((cycle.state, cycle.frame, 1))
      }
    }
    let words = parts.suffix(20).map { part in
      let state = ["stopped", "rolling", "looping", "starting"].dropFirst(Int(part.state)).first ?? "unknown"
      return "\(state) at \(part.frame): \(part.count)"
    }
    return words.joined(separator: ", ")
  }

  fileprivate static func look(_ frames: UInt32, _ seat: UnsafeMutablePointer<SharedMemory>) {
    let number = jack_last_frame_time(seat.pointee.client)
    var position = jack_position_t()
    let state = jack_transport_query(seat.pointee.client, &position)
    var start: UInt32 = 0, current: UInt64 = 0, next: UInt64 = 0, period: Float = 0
    jack_get_cycle_times(seat.pointee.client, &start, &current, &next, &period)
    // PipeWire shows a late client the driver's present cycle. If the driver moved on during this call, the
    // values here belong to two different cycles, so discard them.
    guard jack_last_frame_time(seat.pointee.client) == number else { return }
    let cycle = SeenCycle(
      number: number, due: current,
      late: Int64(jack_get_time()) - Int64(current),
      frames: frames, state: state.rawValue,
      frame: position.frame, isValid: position.valid.rawValue & JackPositionBBT.rawValue != 0,
      bar: position.bar, beat: position.beat, tick: position.tick, beatsPerBar: position.beats_per_bar,
      beatsPerMinute: position.beats_per_minute, ticksPerBeat: position.ticks_per_beat,
      barStartTick: position.bar_start_tick,
      fineTick: position.valid.rawValue & JackTickDouble.rawValue == 0 ? nil : position.tick_double)
    seat.pointee.cycles.push(cycle)
  }

  fileprivate static func isReady(
    _ state: jack_transport_state_t, _ seat: UnsafeMutablePointer<SharedMemory>
  ) -> Bool {
    guard state == JackTransportStarting else {
      seat.pointee.waited = 0
      return true
    }
    seat.pointee.waited += 1
    guard seat.pointee.waited > seat.pointee.hold.load(ordering: .relaxed) else { return false }
    seat.pointee.waited = 0
    return true
  }

  fileprivate static func count(
    _ position: inout jack_position_t, _ seat: UnsafeMutablePointer<SharedMemory>
  ) {
    let tempo = Double(bitPattern: seat.pointee.tempo.load(ordering: .relaxed))
    let ticks = seat.pointee.ticks.load(ordering: .relaxed)
    let passed = position.frame &- seat.pointee.lastFrame
    seat.pointee.lastFrame = position.frame
    seat.pointee.beats =
      passed < 8_192
      ? seat.pointee.beats + Double(passed) / 48_000 * tempo / 60
      : Double(position.frame) / 48_000 * tempo / 60
    let beats = seat.pointee.beats
    let bar = Int32(beats / 4)
    position.valid = JackPositionBBT
    position.bar = bar + 1
    position.beat = Int32(beats) - bar * 4 + 1
    position.tick = Int32((beats - beats.rounded(.down)) * Double(ticks))
    position.bar_start_tick = Double(bar * 4 * Int32(ticks))
    position.beats_per_bar = 4
    position.beat_type = 4
    position.ticks_per_beat = Double(ticks)
    position.beats_per_minute = tempo
  }
}

private func watch(_ frames: UInt32, _ context: UnsafeMutableRawPointer?) -> Int32 {
  TransportWatch.look(frames, context!.assumingMemoryBound(to: TransportWatch.SharedMemory.self))
  return 0
}

private func takeTime(
  _ state: jack_transport_state_t, _ position: UnsafeMutablePointer<jack_position_t>?,
  _ context: UnsafeMutableRawPointer?
) -> Int32 {
  TransportWatch.isReady(state, context!.assumingMemoryBound(to: TransportWatch.SharedMemory.self)) ? 1 : 0
}

private func countBars(
  _ state: jack_transport_state_t, _ frames: UInt32, _ position: UnsafeMutablePointer<jack_position_t>?,
  _ isNew: Int32, _ context: UnsafeMutableRawPointer?
) {
  guard let position else { return }
  TransportWatch.count(
    &position.pointee, context!.assumingMemoryBound(to: TransportWatch.SharedMemory.self))
}
