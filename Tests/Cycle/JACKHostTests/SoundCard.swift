// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import Testing

@testable import TactusJACK

/// A client that looks like a sound card. Sound at its physical input is heard `latency` frames later. The
/// client also has an output, like any program.
final class SoundCard {
  private struct State {
    var input: OpaquePointer
    var latency: UInt32
  }

  let client: JACKClient
  private let state: UnsafeMutablePointer<State>
  var input: String { "\(client.name):sink" }
  var output: String { "\(client.name):out" }

  init(_ server: TestServer, _ name: String, latency: UInt32) throws {
    client = try JACKClient(name: name, server: server.name)
    let flags = UInt(JackPortIsInput.rawValue | JackPortIsPhysical.rawValue)
    let input = jack_port_register(client.handle, "sink", JACK_DEFAULT_AUDIO_TYPE, flags, 0)
    try #require(
      jack_port_register(
        client.handle, "out", JACK_DEFAULT_AUDIO_TYPE, UInt(JackPortIsOutput.rawValue), 0) != nil)
    state = .allocate(capacity: 1)
    state.initialize(to: State(input: try #require(input), latency: latency))
    jack_set_process_callback(client.handle, passNoSound, nil)
    jack_set_latency_callback(client.handle, tellCardLatency, state)
    #expect(jack_activate(client.handle) == 0)
    jack_recompute_total_latencies(client.handle)
  }

  deinit {
    jack_deactivate(client.handle)
    state.deallocate()
  }

  func connect(_ output: String, to input: String) { jack_connect(client.handle, output, input) }

  func disconnect(_ output: String, from input: String) { jack_disconnect(client.handle, output, input) }

  func tell(_ latency: UInt32) {
    state.pointee.latency = latency
    jack_recompute_total_latencies(client.handle)
  }

  fileprivate static func tell(_ mode: jack_latency_callback_mode_t, _ context: UnsafeMutableRawPointer?) {
    guard mode == JackPlaybackLatency else { return }
    let state = context!.assumingMemoryBound(to: State.self)
    var range = jack_latency_range_t(min: state.pointee.latency, max: state.pointee.latency)
    jack_port_set_latency_range(state.pointee.input, mode, &range)
  }
}

private func passNoSound(_ frames: UInt32, _ context: UnsafeMutableRawPointer?) -> Int32 { 0 }

private func tellCardLatency(_ mode: jack_latency_callback_mode_t, _ context: UnsafeMutableRawPointer?) {
  SoundCard.tell(mode, context)
}
