// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import TactusJACK

/// A second JACK client that starts and stops the transport, makes and cuts connections, and plays notes.
final class Hand {
  private let client: OpaquePointer
  private let keys: OpaquePointer

  init() throws {
    var status = JackStatus(rawValue: 0)
    guard let client = cjack_client_open("hand", JackNoStartServer, &status, nil),
      let keys = jack_port_register(
        client, "keys", JACK_DEFAULT_MIDI_TYPE, UInt(JackPortIsOutput.rawValue), 0)
    else { throw JACKError.refused(status: status.rawValue) }
    self.client = client
    self.keys = keys
    jack_port_register(client, "ear", JACK_DEFAULT_AUDIO_TYPE, UInt(JackPortIsInput.rawValue), 0)
    jack_port_register(client, "synth", JACK_DEFAULT_MIDI_TYPE, UInt(JackPortIsInput.rawValue), 0)
    jack_set_process_callback(client, playKeys, UnsafeMutableRawPointer(keys))
    jack_activate(client)
  }

  deinit {
    jack_client_close(client)
  }

  /// Takes one random action.
  func act(_ dice: inout Dice) {
    switch dice.draw(below: 16) {
    case 0...3: jack_transport_start(client)
    case 4...5: jack_transport_stop(client)
    case 6...7: jack_transport_locate(client, UInt32(dice.draw(below: 1_000_000)))
    case 8...12: plug(true)
    case 13...14: plug(false)
    default: jack_set_buffer_size(client, dice.draw(below: 2) == 0 ? 64 : 256)
    }
  }

  private func plug(_ on: Bool) {
    let change = on ? jack_connect : jack_disconnect
    for port in ["click_1", "click_2", "pulse", "run"] { _ = change(client, "tactus:\(port)", "hand:ear") }
    _ = change(client, "tactus:clock", "hand:synth")
    _ = change(client, "hand:keys", "tactus:control")
  }
}

/// Random numbers from a seed.
struct Dice {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
  }

  mutating func draw(below limit: Int) -> Int {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return Int(state % UInt64(limit))
  }
}

private func playKeys(_ frames: UInt32, _ keys: UnsafeMutableRawPointer?) -> Int32 {
  guard let buffer = jack_port_get_buffer(OpaquePointer(keys), frames) else { return 0 }
  jack_midi_clear_buffer(buffer)
  guard let bytes = jack_midi_event_reserve(buffer, 0, 3) else { return 0 }
  bytes[0] = 0x90
  bytes[1] = 60
  bytes[2] = 100
  return 0
}
