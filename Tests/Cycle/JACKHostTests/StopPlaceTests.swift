// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkSystem
import TactusChoices
import TactusSync
import Testing

@testable import TactusJACK

/// The place at which a stop leaves the transport of a real server. At 300 BPM a beat has 9600 frames.
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
    watch.locate(5 * 38_400 + 20_000)
    try await live.run { watch.last.frame == 5 * 38_400 + 20_000 }
    live.command(.play)
    try await live.run { watch.last.isRolling && live.exchange.report().song.isRolling }
    return live
  }

  @Test(arguments: [(StopPlace.bar, 5 * 38_400), (.start, 0)] as [(StopPlace, UInt32)])
  func `a stop goes back to the bar or song start, the next start too`(place: StopPlace, frame: UInt32)
    async throws
  {
    let server = try await TestServer()
    let watch = try TransportWatch(server)
    let live = try await rolling(server, watch, leaves: place)
    live.command(.stop)
    try await live.run { !watch.last.isRolling && watch.last.frame == frame }
    try await live.run(for: 100)
    #expect(watch.last.frame == frame && !watch.last.isRolling)
    // If a start follows the stop at once, it begins at the place of the stop, too.
    live.command(.play)
    try await live.run { watch.last.isRolling && live.exchange.report().song.isRolling }
    watch.forget()
    live.command(.stop)
    live.command(.play)
    try await live.run { watch.collected.contains { !$0.isRolling } && watch.last.isRolling }
    let first = try #require(watch.collected.drop { $0.isRolling }.first { $0.isRolling })
    #expect(first.frame >= frame && first.frame <= frame + 256)
    live.command(.stop)
    try await live.run { !watch.last.isRolling && watch.last.frame == frame }
  }

  /// With `.now` the song starts at once, off the session's grid.
  @Test(arguments: [LaunchMoment.bar, .now])
  func `a stop on the bar leaves the transport on that bar line`(start: LaunchMoment) async throws {
    let server = try await TestServer()
    let watch = try TransportWatch(server)
    let live = try await rolling(server, watch, leaves: .bar, on: start)
    live.command(.stopOn(bar: true))
    try await live.run { !watch.last.isRolling && watch.last.frame == 6 * 38_400 }
    try await live.run(for: 100)
    #expect(watch.last.frame == 6 * 38_400)
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
