// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import Glibc
import Testing

@testable import TactusJACK

/// Another client on the same server. It has an amplifier's input with a latency of `periods` periods, the
/// MIDI input of a machine that can be started and stopped, a MIDI output, and the amplifier's output.
final class Neighbour {
  static let amplifier = "neighbour:amplifier"
  static let machine = "neighbour:machine"

  let client: JACKClient
  var handle: OpaquePointer { client.handle }
  private let context: UnsafeMutablePointer<Context>

  private struct Context {
    var client: OpaquePointer
    var amplifier: OpaquePointer
    var machine: OpaquePointer
    var keys: OpaquePointer
    var starts = 0, stops = 0
    var periods: UInt32 = 3
    var keysFrames: UInt32 = 0
    var ticks = 0
    var frame: UInt32?
    var lostCycles = 0
    var note: UInt8 = 1
  }

  init(_ server: TestServer) throws {
    client = try JACKClient(name: "neighbour", server: server.name)
    let amplifier = jack_port_register(
      client.handle, "amplifier", JACK_DEFAULT_AUDIO_TYPE, UInt(JackPortIsInput.rawValue), 0)
    let machine = jack_port_register(
      client.handle, "machine", JACK_DEFAULT_MIDI_TYPE, UInt(JackPortIsInput.rawValue), 0)
    let keys = jack_port_register(
      client.handle, "keys", JACK_DEFAULT_MIDI_TYPE, UInt(JackPortIsOutput.rawValue), 0)
    jack_port_register(client.handle, "sound", JACK_DEFAULT_AUDIO_TYPE, UInt(JackPortIsOutput.rawValue), 0)
    context = .allocate(capacity: 1)
    context.initialize(
      to: Context(
        client: client.handle, amplifier: try #require(amplifier), machine: try #require(machine),
        keys: try #require(keys)))
    jack_set_process_callback(client.handle, playNeighbour, context)
    jack_set_latency_callback(client.handle, tellLatency, context)
    #expect(jack_activate(client.handle) == 0)
  }

  deinit {
    jack_deactivate(client.handle)
    context.deallocate()
  }

  /// The number of meaningless messages that are sent in each cycle, in place of the note.
  var ticks: Int {
    get { context.pointee.ticks }
    set { context.pointee.ticks = newValue }
  }

  /// Sets the capture latency of `keys` and has all latencies computed again.
  func setKeysLatency(_ frames: UInt32) {
    context.pointee.keysFrames = frames
    jack_recompute_total_latencies(handle)
  }

  /// The amplifier's latency, in periods.
  func setPeriods(_ periods: UInt32) {
    context.pointee.periods = periods
    jack_recompute_total_latencies(handle)
  }

  func latency(of port: String, _ mode: jack_latency_callback_mode_t) -> UInt32 {
    var range = jack_latency_range_t()
    jack_port_get_latency_range(jack_port_by_name(handle, port), mode, &range)
    return range.max
  }

  /// The number of MIDI Start messages that the machine got. `stops` is the number of Stop messages.
  var starts: Int { context.pointee.starts }
  var stops: Int { context.pointee.stops }

  /// The number of cycles in which JACK did not call this client.
  var lostCycles: Int { context.pointee.lostCycles }

  @discardableResult
  func connect(_ from: String, _ to: String) -> Bool { jack_connect(handle, from, to) == 0 }

  func disconnect(_ from: String, _ to: String) { jack_disconnect(handle, from, to) }

  func connections(of port: String) -> Set<String> {
    Set(portNames(jack_port_get_all_connections(handle, jack_port_by_name(handle, port))))
  }

  var ports: Set<String> { Set(portNames(jack_get_ports(handle, nil, nil, 0))) }

  func property(_ key: String, of port: String) -> String? {
    var value: UnsafeMutablePointer<CChar>?
    var type: UnsafeMutablePointer<CChar>?
    let subject = jack_port_uuid(jack_port_by_name(handle, port))
    guard jack_get_property(subject, "http://jackaudio.org/metadata/" + key, &value, &type) == 0, let value
    else { return nil }
    defer {
      jack_free(value)
      jack_free(type)
    }
    return String(cString: value)
  }

  fileprivate static func play(_ frames: UInt32, _ context: UnsafeMutableRawPointer?) {
    let state = context!.assumingMemoryBound(to: Context.self)
    let frame = jack_last_frame_time(state.pointee.client)
    if let last = state.pointee.frame {
      state.pointee.lostCycles += max(0, Int(Int32(bitPattern: frame &- last)) / Int(frames) - 1)
    }
    state.pointee.frame = frame
    let heard = jack_port_get_buffer(state.pointee.machine, frames)
    var event = jack_midi_event_t()
    for index in 0..<(heard.map(jack_midi_get_event_count) ?? 0)
    where jack_midi_event_get(&event, heard, index) == 0 {
      switch event.buffer[0] {
      case 0xFA, 0xFB: state.pointee.starts += 1
      case 0xFC: state.pointee.stops += 1
      default: break
      }
    }
    guard let buffer = jack_port_get_buffer(state.pointee.keys, frames) else { return }
    jack_midi_clear_buffer(buffer)
    for _ in 0..<state.pointee.ticks { jack_midi_event_reserve(buffer, 5, 1)?.pointee = 0xFE }
    guard state.pointee.ticks == 0, let bytes = jack_midi_event_reserve(buffer, 5, 3) else { return }
    bytes[0] = 0x90
    bytes[1] = 60
    bytes[2] = state.pointee.note
    state.pointee.note = state.pointee.note % 127 + 1
  }

  fileprivate static func tell(_ mode: jack_latency_callback_mode_t, _ context: UnsafeMutableRawPointer?) {
    let state = context!.assumingMemoryBound(to: Context.self)
    guard mode == JackPlaybackLatency else {
      var range = jack_latency_range_t(min: state.pointee.keysFrames, max: state.pointee.keysFrames)
      jack_port_set_latency_range(state.pointee.keys, mode, &range)
      return
    }
    let frames = state.pointee.periods * jack_get_buffer_size(state.pointee.client)
    var range = jack_latency_range_t(min: frames, max: frames)
    jack_port_set_latency_range(state.pointee.amplifier, mode, &range)
  }
}

private func playNeighbour(_ frames: UInt32, _ context: UnsafeMutableRawPointer?) -> Int32 {
  Neighbour.play(frames, context)
  return 0
}

private func tellLatency(_ mode: jack_latency_callback_mode_t, _ context: UnsafeMutableRawPointer?) {
  Neighbour.tell(mode, context)
}
