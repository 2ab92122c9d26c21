// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkSystem
import TactusChoices
import TactusSync
import Testing

@testable import TactusJACK

/// The place at which a stop leaves the transport of a real server. At 300 BPM a bar has 38,400 frames. The
/// bar in which a stop comes is read from the cycles, since a busy machine gives the command later.
extension JACKHostTests {
  private func rolling(
    _ server: TestServer, _ watch: TransportWatch, leaves place: StopPlace, on moment: LaunchMoment = .now
  )
    async throws -> LiveHost
  {
    let live = try LiveHost(server)
    live.change { ($0.launch.moment, $0.stopPlace) = (moment, place) }
    live.host.plan.choices = live.settings
    live.edit { $0.setTempo(300, at: HostClock.micros()) }
    live.host.wantsTimebase = true
    try await live.run { live.standing == .master }
    try await live.locate(watch, to: 5 * 38_400 + 20_000)
    live.command(.play)
    try await live.run { watch.last.isRolling && live.exchange.report().song.isRolling }
    return live
  }

  /// Stops, and waits until the transport stands. Checks that the transport stands on the bar line before the
  /// stop, or at the song's start.
  private func stop(_ live: LiveHost, _ watch: TransportWatch, leaves place: StopPlace) async throws {
    let first = watch.last.frame / 38_400 * 38_400
    watch.forget()
    live.command(.stop)
    try await live.run { !watch.last.isRolling && watch.last.frame % 38_400 == 0 }
    try await live.run(for: 100)
    let frame = watch.last.frame
    #expect(!watch.last.isRolling)
    guard place == .bar else {
      #expect(frame == 0)
      return
    }
    #expect(frame >= 5 * 38_400)
    let last = watch.seen.last { $0.isRolling }?.frame ?? first
    #expect([first, last / 38_400 * 38_400].contains(frame), "\(watch.summary)")
  }

  @Test(arguments: [StopPlace.bar, .start])
  func `a stop goes back to the bar or song start, the next start too`(place: StopPlace) async throws {
    let server = try await TestServer()
    let watch = try TransportWatch(server)
    let live = try await rolling(server, watch, leaves: place)
    try await stop(live, watch, leaves: place)
    live.command(.play)
    try await live.run { watch.last.isRolling && live.exchange.report().song.isRolling }
    // If a start follows the stop at once, it begins at the place of the stop, too.
    let before = watch.last.frame
    watch.forget()
    live.command(.stop)
    live.command(.play)
    try await live.run { watch.collected.contains { !$0.isRolling } && watch.last.isRolling }
    let last = watch.collected.prefix { $0.isRolling }.last?.frame ?? before
    let first = try #require(watch.collected.drop { $0.isRolling }.first { $0.isRolling })
    let lines = place == .bar ? [before, last].map { $0 / 38_400 * 38_400 } : [0]
    #expect(lines.contains { first.frame >= $0 && first.frame <= $0 + 256 }, "\(watch.summary)")
    try await stop(live, watch, leaves: place)
  }

  /// With `.now` the song starts at once, off the session's grid.
  @Test(arguments: [LaunchMoment.bar, .now])
  func `a stop on the bar leaves the transport on that bar line`(start: LaunchMoment) async throws {
    let server = try await TestServer()
    let watch = try TransportWatch(server)
    let live = try await rolling(server, watch, leaves: .bar, on: start)
    let before = live.mark
    // The control thread may read a later cycle than the watch has shown.
    let next = [0, 512].map { (watch.last.frame + $0) / 38_400 * 38_400 + 38_400 }
    watch.forget()
    live.command(.stopOn(bar: true))
    try await live.run { !watch.last.isRolling && watch.last.frame % 38_400 == 0 }
    try await live.run(for: 100)
    let frame = watch.last.frame
    // On a busy machine the command may come in one bar, and the control thread's next step in the next bar.
    #expect(next.contains(frame) || frame > next[0] && !live.isCalm(since: before), "\(watch.summary)")
    let last = try #require(watch.seen.last { $0.isRolling })
    #expect(last.frame + 38_400 > frame && last.frame < frame + 38_400, "\(watch.summary)")
  }

  @Test func `a stop by another program, or while standing, moves no transport`() async throws {
    let server = try await TestServer()
    let watch = try TransportWatch(server)
    let live = try await rolling(server, watch, leaves: .start)
    watch.stop()
    try await live.run { !watch.last.isRolling }
    try await live.run(for: 200)
    let place = watch.last.frame
    #expect(place > 5 * 38_400)
    live.command(.stop)
    try await live.run(for: 200)
    #expect(watch.last.frame == place)
  }

  @Test func `a waiting locate decides where a stop leaves the transport`() async throws {
    let server = try await TestServer()
    let watch = try TransportWatch(server)
    let live = try await rolling(server, watch, leaves: .start)
    live.command(.jump(frame: 384_000, beat: 40, step: 4))
    live.command(.stop)
    try await live.run { !watch.last.isRolling && watch.last.frame == 384_000 }
    try await live.run(for: 100)
    #expect(watch.last.frame == 384_000)
  }
}
