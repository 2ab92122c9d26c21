// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import LinkBeatMath
import LinkSystem
import TactusTestSupport
import Testing

@testable import TactusJACK

/// Starts on a real server: its first start, starts after a stop, and starts after a locate.
extension JACKHostTests {
  @Test func `on a server, starts are on their bar, also after a stop or a locate`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    live.edit { $0.setTempo(240, at: HostClock.micros()) }
    live.host.wantsTimebase = true
    try await live.run { live.standing == .master }
    let watch = try TransportWatch(server)
    try await live.run(for: 900)
    var errors: [Double] = []
    for round in 0..<8 {
      if round % 4 == 3 {
        try await live.locate(watch, to: 96_000)
      }
      let before = live.exchange.report()
      watch.forget()
      try await live.start(watch)
      try await live.run(for: Int64(200 + 40 * round))
      let error = late(watch.collected, live)
      // Our own measurement of the error must agree with the other client's.
      if live.exchange.report().isQuiet(since: before), !error.isNaN {
        #expect(abs(live.exchange.report().launch.error - error) < 700, "start \(round): \(error) us")
        errors.append(error)
      }
      watch.stop()
      try await live.run { !watch.last.isRolling && !live.exchange.report().song.isRolling }
      try await live.run(for: 130)
    }
    guard !errors.isEmpty else { return notJudged(#function) }
    let sorted = errors.map(abs).sorted()
    #expect(sorted[sorted.count / 2] < 0.76 * 256e6 / 48_000, "\(errors) us")
  }

  @Test func `a start is on its bar beside a client that shortens JACK's timeout`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    live.edit { $0.setTempo(150, at: HostClock.micros()) }
    live.host.wantsTimebase = true
    try await live.run { live.standing == .master }
    let watch = try TransportWatch(server, isSlow: true)
    var errors: [Double] = []
    for round in 0..<4 {
      watch.shortenSyncTimeout()
      try await live.locate(watch, to: 96_000)
      // Wait until half a bar before a bar line, as far as possible from any bar line.
      let now = live.session.timeline.beats(at: HostClock.micros()).value
      try await live.run(for: Int64((6 - (now - 4 * (now / 4).rounded(.down))) * 400))
      let before = live.exchange.report()
      watch.forget()
      if round % 2 == 0 { watch.play() } else { live.command(.play) }
      try await live.run(for: 1_900)
      try await live.run { watch.last.isRolling && live.exchange.report().song.isRolling }
      watch.forget()
      try await live.run(for: 200)
      if live.exchange.report().isQuiet(since: before) { errors.append(late(watch.collected, live)) }
      watch.stop()
      try await live.run { !watch.last.isRolling && !live.exchange.report().song.isRolling }
    }
    guard !errors.isEmpty else { return notJudged(#function) }
    #expect(live.exchange.report().launch.cutStarts > 0)
    let sorted = errors.map(abs).sorted()
    #expect(sorted[sorted.count / 2] < 1.1 * 256e6 / 48_000, "\(errors) us")
  }

  /// The delay of a DAW against the session's bars, in microseconds: the median over the cycles. The DAW
  /// counts frames at the session's tempo.
  private func late(_ cycles: [SeenCycle], _ live: LiveHost) -> Double {
    let period = Double(live.session.timeline.tempo.microsPerBeat)
    let physical = Micros(Int64(live.host.latencies[.jack]) * 1_000_000 / 48_000)
    let late = cycles.filter(\.isRolling).map { cycle in
      let heard = live.host.clockMap.link(fromJACK: Micros(Int64(cycle.due))) + physical
      let away = live.session.timeline.beats(at: heard).value - Double(cycle.frame) * 1e6 / 48_000 / period
      return (away - 4 * (away / 4).rounded()) * period
    }.sorted()
    return late.count > 9 ? late[late.count / 2] : .nan
  }
}
