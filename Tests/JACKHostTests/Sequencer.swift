// SPDX-License-Identifier: GPL-2.0-or-later
import CJACK
import Synchronization
import Testing

@testable import JACKHost

/// A sequencer on the same server: it sends MIDI clock without end, and Start before its next clock when it is told to.
final class Sequencer {
  static let port = "sequencer:clock"

  private struct Seat: ~Copyable {
    let clock: OpaquePointer
    let framesPerClock: UInt32
    let starts = Atomic<Bool>(false)
    /// Frames from the cycle's start to the next clock.
    var next: UInt32 = 0
  }

  private let client: JACKClient
  private let seat: UnsafeMutablePointer<Seat>

  init(_ server: TestServer, framesPerClock: UInt32) throws {
    client = try JACKClient(name: "sequencer", server: server.name)
    let port = jack_port_register(
      client.handle, "clock", JACK_DEFAULT_MIDI_TYPE, UInt(JackPortIsOutput.rawValue), 0)
    seat = .allocate(capacity: 1)
    seat.initialize(to: Seat(clock: try #require(port), framesPerClock: framesPerClock))
    jack_set_process_callback(client.handle, playSequencer, seat)
    #expect(jack_activate(client.handle) == 0)
  }

  deinit {
    jack_deactivate(client.handle)
    seat.deinitialize(count: 1)
    seat.deallocate()
  }

  func connect(to port: String) { #expect(jack_connect(client.handle, Self.port, port) == 0) }

  /// Its next clock is the song's first.
  func start() { seat.pointee.starts.store(true, ordering: .relaxed) }

  fileprivate static func play(_ frames: UInt32, _ context: UnsafeMutableRawPointer?) {
    let seat = context!.assumingMemoryBound(to: Seat.self)
    guard let buffer = jack_port_get_buffer(seat.pointee.clock, frames) else { return }
    jack_midi_clear_buffer(buffer)
    while seat.pointee.next < frames {
      if seat.pointee.starts.exchange(false, ordering: .relaxed) { send(0xFA, at: seat.pointee.next, buffer) }
      send(0xF8, at: seat.pointee.next, buffer)
      seat.pointee.next += seat.pointee.framesPerClock
    }
    seat.pointee.next -= frames
  }

  private static func send(_ status: UInt8, at frame: UInt32, _ buffer: UnsafeMutableRawPointer) {
    jack_midi_event_reserve(buffer, frame, 1)?.pointee = status
  }
}

private func playSequencer(_ frames: UInt32, _ context: UnsafeMutableRawPointer?) -> Int32 {
  Sequencer.play(frames, context)
  return 0
}
