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
