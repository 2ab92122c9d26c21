// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import Testing

@testable import TactusJACK

/// A client that looks like a sound card. Sound at its physical input is heard `latency` frames later. The
/// client also has an output, like any program.
///
/// Its latency callback sets nothing: PipeWire's libjack 0.3.65 waits for itself for ever if it gets a
/// request while the callback sets a latency.
final class SoundCard {
  let client: JACKClient
  private let port: OpaquePointer
  var input: String { "\(client.name):sink" }
  var output: String { "\(client.name):out" }

  init(_ server: TestServer, _ name: String, latency: UInt32) throws {
    client = try JACKClient(name: name, server: server.name)
    let flags = UInt(JackPortIsInput.rawValue | JackPortIsPhysical.rawValue)
    let input = jack_port_register(client.handle, "sink", JACK_DEFAULT_AUDIO_TYPE, flags, 0)
    try #require(
      jack_port_register(
        client.handle, "out", JACK_DEFAULT_AUDIO_TYPE, UInt(JackPortIsOutput.rawValue), 0) != nil)
    port = try #require(input)
    jack_set_process_callback(client.handle, passNoSound, nil)
    jack_set_latency_callback(client.handle, passNoLatency, nil)
    #expect(jack_activate(client.handle) == 0)
    tell(latency)
  }

  deinit { jack_deactivate(client.handle) }

  func connect(_ output: String, to input: String) { jack_connect(client.handle, output, input) }

  func disconnect(_ output: String, from input: String) { jack_disconnect(client.handle, output, input) }

  func tell(_ latency: UInt32) {
    var range = jack_latency_range_t(min: latency, max: latency)
    jack_port_set_latency_range(port, JackPlaybackLatency, &range)
    jack_recompute_total_latencies(client.handle)
  }
}

private func passNoSound(_ frames: UInt32, _ context: UnsafeMutableRawPointer?) -> Int32 { 0 }

private func passNoLatency(_ mode: jack_latency_callback_mode_t, _ context: UnsafeMutableRawPointer?) {}
