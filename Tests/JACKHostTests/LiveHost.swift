// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import CJACK
import HostSync
import Testing

@testable import JACKHost

/// A `JACKHost` on a running server, looked after as the program's main loop does it.
final class LiveHost {
  let exchange: AudioExchange
  let host: JACKHost
  private(set) var events: [JACKEvent] = []

  init(_ server: TestServer, name: String = "tactus") throws {
    let timeline = Timeline(tempo: Tempo(120), beatOrigin: .zero, timeOrigin: linkClock())
    let session = SessionState(
      timeline: timeline, startStop: ClientStartStop(isPlaying: false, time: .zero, timestamp: .zero),
      isConnected: false)
    exchange = AudioExchange(session: session, settings: Settings())
    host = try JACKHost(name: name, server: server.name, exchange: exchange)
    try host.start(at: linkClock())
  }

  deinit {
    host.close()
  }

  /// Steps every 10 ms until `isDone`, for 10 s at most. How long it took.
  @discardableResult
  func run(until isDone: () -> Bool) async throws -> Micros {
    let start = linkClock()
    while !isDone() {
      if linkClock() - start > Micros(10_000_000) {
        Issue.record("waited for 10 s in vain")
        break
      }
      events += host.step(at: linkClock())
      try await Task.sleep(for: .milliseconds(10))
    }
    return linkClock() - start
  }

  func run(for milliseconds: Int64) async throws {
    let end = linkClock() + Micros(milliseconds * 1_000)
    try await run { linkClock() >= end }
  }

  func forgetEvents() { events = [] }
}

/// Somebody else on the same server.
final class Neighbour {
  let client: JACKClient
  var handle: OpaquePointer { client.handle }

  init(_ server: TestServer, name: String = "neighbour") throws {
    client = try JACKClient(name: name, server: server.name)
    jack_set_process_callback(client.handle, idle, nil)
    #expect(jack_activate(client.handle) == 0)
  }

  @discardableResult
  func connect(_ from: String, _ to: String) -> Bool { jack_connect(handle, from, to) == 0 }

  func connections(of port: String) -> [String] {
    portNames(jack_port_get_all_connections(handle, jack_port_by_name(handle, port)))
  }
}

private func idle(_ frames: UInt32, _ context: UnsafeMutableRawPointer?) -> Int32 { 0 }
