// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import Glibc
import LinkHandoff
import TactusChoices
import TactusSync
import TactusTestSupport
import Testing
import TimecodeReader

@testable import TactusJACK

extension JACKHostTests {
  @Test func `LTC and MTC show the transport's place`()
    async throws
  {
    let server = try await TestServer()
    let live = try LiveHost(server)
    var ltc = OutputSettings(.ltc)
    ltc.timecode?.start = Timecode(hours: 1)
    var mtc = OutputSettings(.mtc)
    mtc.timecode?.start = Timecode(hours: 1)
    live.host.carry(outputs: [
      OwnOutput(name: "own_tc", settings: ltc), OwnOutput(name: "own_lamp", settings: mtc),
    ])
    let tape = try Tape(server)
    try await live.run { tape.connect("own_tc", "own_lamp") }
    try await live.run(for: 500)
    jack_transport_start(tape.client.handle)
    // The start waits for a bar, or for the bar after it if the machine was too busy.
    try await live.run { live.host.report.song.isRolling }
    let lostBefore = live.exchange.report().times.lostCycles
    try await live.run(for: 6_000)
    jack_transport_stop(tape.client.handle)
    // The full frame message comes with the stop.
    try await live.run { !live.host.report.isMoving }
    try await live.run(for: 200)
    let ports = live.host.outputPorts
    let ahead = try #require(ports["own_tc"]).latency
    let others = live.host.latencies[.jack]

    // Each lost cycle spoils at most three LTC frames: the frame that it cuts, and the frames before and
    // after that, whose ends libltc does not find. It takes away at most one MIDI message.
    var lost = Int(live.exchange.report().times.lostCycles - lostBefore)
    let reader = LTCReader(samplesPerFrame: 1_920)
    var last: UInt32?
    var places: [Double] = []
    var quarters: [(place: Double, byte: UInt8)] = []
    var full: [(place: Double, bytes: [UInt8])] = []
    while let cycle = tape.next() {
      if cycle.isRolling, let last {
        lost += max(0, Int(Int32(bitPattern: cycle.number &- last)) / Int(cycle.frames) - 1)
      }
      last = cycle.number
      let start = Double(cycle.transport) + Double(ahead) - Double(others)
      for frame in 0..<Int(cycle.frames) { places.append(cycle.isRolling ? start + Double(frame) : -1) }
      var samples = (0..<Int(cycle.frames)).map { cycle.samples[$0] }
      samples.withUnsafeMutableBufferPointer { reader.read($0) }
      if cycle.messageSize == 2 {
        quarters.append((start + Double(cycle.messageFrame), cycle.message[1]))
      } else if cycle.messageSize == 10 {
        // While the transport stands, the message gives the transport's own place, whatever the port's
        // latency.
        full.append((cycle.isRolling ? start : Double(cycle.transport), (0..<10).map { cycle.message[$0] }))
      }
    }
    if lost > 15 {
      notJudged("\(#function): \(lost) cycles were lost, each of which may spoil three of 150 frames")
    }
    #expect(reader.frames.count + 3 * lost > 100)
    var whole = 0, judged = 0
    for frame in reader.frames where places.indices.contains(frame.start) && places[frame.start] >= 0 {
      let (before, end) = (frame.start - 1_920, frame.start + 1_919)
      // If a stall of the server cut a frame, libltc does not know where that frame and the next frame begin.
      guard places.indices.contains(before), places.indices.contains(end),
        places[end] - places[before] == Double(end - before)
      else { continue }
      whole += 1
      let exact = places[frame.start] / 1_920
      guard abs(exact - exact.rounded()) * 1_920 < 3.5 else { continue }
      judged += 1
      let number = 3_600 * frame.code.hours + 60 * frame.code.minutes + frame.code.seconds
      #expect(number * 25 + frame.code.frames == 90_000 + Int(exact.rounded()))
    }
    #expect(whole + 3 * lost > 50 && (judged + 3 * lost) * 10 > whole * 9, "\(judged) of \(whole)")
    // A quarter frame is 480 frames long.
    let rolling = places.count { $0 >= 0 }
    #expect(rolling + 256 * lost > 5 * 48_000)
    let share = Double(quarters.count * 480) / Double(rolling)
    let lostShare = Double(lost * 480) / Double(rolling)
    #expect(abs(share - 1) < 0.1 + lostShare, "\(quarters.count) in \(rolling) frames, \(lost) lost cycles")
    let firsts = quarters.filter { $0.byte >> 4 == 0 }
    let placed = firsts.filter { first in
      let exact = first.place / 1_920
      return abs(exact - exact.rounded()) * 1_920 <= 1
    }
    for first in placed {
      let frame = Int((first.place / 1_920).rounded())
      #expect(frame % 2 == 0 && first.byte & 0xF == UInt8(frame % 25 & 0xF))
    }
    // As with the LTC frames above, MIDI data that is too late for its cycle arrives in another cycle, or
    // twice.
    #expect((placed.count + lost) * 10 > firsts.count * 9)
    // The last full frame message gives the place at which the transport stopped.
    guard let message = full.last else {
      if lost == 0 { Issue.record("the stop sent no full frame message") }
      return notJudged("\(#function): the full frame message, since \(lost) cycles were lost")
    }
    let frames = Int(message.place / 1_920)
    let bytes = [0xF0, 0x7F, 0x7F, 1, 1, 0x21, 0, UInt8(frames / 25), UInt8(frames % 25), 0xF7]
    #expect(message.bytes == bytes || lost > 0)
  }
}

/// Records an audio port and a MIDI port, cycle by cycle, with the transport's place.
private final class Tape {
  struct Cycle: BitwiseCopyable, Sendable {
    /// The server's count of frames at the cycle's start.
    var number: UInt32 = 0
    var transport: UInt32 = 0
    var isRolling = false
    var frames: UInt32 = 0
    var samples = InlineArray<256, Float>(repeating: 0)
    /// At most one MIDI message arrives in a cycle, since the messages are 10 ms apart.
    var messageFrame: UInt32 = 0
    var messageSize = 0
    var message = InlineArray<10, UInt8>(repeating: 0)
  }

  fileprivate struct Deck: ~Copyable {
    let client, sound, keys: OpaquePointer
    let cycles = SPSCQueue<Cycle>(capacity: 1 << 12)
  }

  let client: JACKClient
  private let deck: UnsafeMutablePointer<Deck>

  init(_ server: TestServer) throws {
    client = try JACKClient(name: "tape", server: server.name)
    func port(_ name: String, _ type: String) -> OpaquePointer? {
      jack_port_register(client.handle, name, type, UInt(JackPortIsInput.rawValue), 0)
    }
    deck = .allocate(capacity: 1)
    deck.initialize(
      to: Deck(
        client: client.handle, sound: try #require(port("sound", JACK_DEFAULT_AUDIO_TYPE)),
        keys: try #require(port("keys", JACK_DEFAULT_MIDI_TYPE))))
    jack_set_process_callback(client.handle, recordTape, deck)
    #expect(jack_activate(client.handle) == 0)
  }

  deinit {
    jack_deactivate(client.handle)
    deck.deinitialize(count: 1)
    deck.deallocate()
  }

  /// Connects the two ports to those of tactus. Returns true when both are connected.
  func connect(_ sound: String, _ keys: String) -> Bool {
    func isConnected(_ output: String, _ input: String) -> Bool {
      [0, EEXIST].contains(jack_connect(client.handle, "tactus:\(output)", input))
    }
    return isConnected(sound, "tape:sound") && isConnected(keys, "tape:keys")
  }

  func next() -> Cycle? { deck.pointee.cycles.pop() }

  fileprivate static func take(_ frames: UInt32, _ deck: UnsafeMutablePointer<Deck>) {
    var position = jack_position_t()
    var cycle = Cycle()
    cycle.number = jack_last_frame_time(deck.pointee.client)
    cycle.isRolling = jack_transport_query(deck.pointee.client, &position) == JackTransportRolling
    cycle.transport = position.frame
    cycle.frames = min(frames, 256)
    guard let sound = jack_port_get_buffer(deck.pointee.sound, frames),
      let keys = jack_port_get_buffer(deck.pointee.keys, frames)
    else { return }
    let samples = sound.assumingMemoryBound(to: Float.self)
    for place in 0..<Int(cycle.frames) { cycle.samples[place] = samples[place] }
    var event = jack_midi_event_t()
    if jack_midi_get_event_count(keys) > 0, jack_midi_event_get(&event, keys, 0) == 0, event.size <= 10 {
      cycle.messageFrame = event.time
      cycle.messageSize = event.size
      for place in 0..<event.size { cycle.message[place] = event.buffer[place] }
    }
    deck.pointee.cycles.push(cycle)
  }
}

private func recordTape(_ frames: UInt32, _ context: UnsafeMutableRawPointer?) -> Int32 {
  Tape.take(frames, context!.assumingMemoryBound(to: Tape.Deck.self))
  return 0
}
