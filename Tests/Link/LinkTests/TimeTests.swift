// SPDX-License-Identifier: GPL-2.0-or-later
import Link
import TactusTestSupport
import Testing

/// Link's clock as a clock of Swift, and Link's values as text.
@Suite struct TimeTests {
  @Test(.timeLimit(.minutes(1))) func `a task can sleep until the time of a beat`() async throws {
    let link = Link(tempo: 300)
    let state = link.capture()
    let next = state.beat(at: .now, quantum: 4).rounded(.down) + 1
    let wanted = state.time(atBeat: next, quantum: 4)
    try await Task.sleep(until: wanted, clock: .link)
    #expect(Link.now >= wanted)
    #expect(state.beat(at: wanted, quantum: 4) >= next - 1e-5)
    // A sleep until a past instant ends at once; the sleep of a cancelled task throws.
    try await Task.sleep(until: wanted, clock: .link)
    let task = Task { try await Task.sleep(until: Link.now + .seconds(3_600), clock: .link) }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func `instants and durations are two types`() {
    let start = Link.Instant(microseconds: 1_000_000)
    #expect(start + .milliseconds(5) == Link.Instant(microseconds: 1_005_000))
    #expect(start - .nanoseconds(1_500) == Link.Instant(microseconds: 999_998))
    #expect(start.duration(to: start.advanced(microseconds: -7)) == .microseconds(-7))
    #expect(start.advanced(frames: 480, sampleRate: 48_000) == start + .milliseconds(10))
    #expect(start.advanced(frames: -480, sampleRate: 48_000) == start - .milliseconds(10))
    // An impossible rate gives some instant, and no trap.
    #expect(start.advanced(frames: 1, sampleRate: 0) != start)
    #expect(start < start.advanced(microseconds: 1) && "\(start)" == "1000000 µs")
    #expect(Link.Clock().minimumResolution == .microseconds(1))
  }

  @Test func `sums of times beyond the ends of the clock stay at its ends`() {
    let (start, first, last) = (
      Link.Instant(microseconds: 1), Link.Instant(microseconds: .min), Link.Instant(microseconds: .max)
    )
    #expect(start + .seconds(Int64.max) == last && start - .seconds(Int64.max) == first)
    #expect(start + .seconds(Int64.min) == first && start - .seconds(Int64.min) == last)
    #expect(last.advanced(microseconds: 1) == last && first.advanced(microseconds: -1) == first)
    #expect(last.advanced(frames: .max, sampleRate: 1) == last)
    #expect(first.duration(to: last) > .zero && last - first > .zero)
  }

  @Test func `a state and a configuration can be printed and stored`() throws {
    var state = Link(tempo: 90).capture()
    state.setPlaying(true, at: .now)
    #expect("\(state)" == "90.0 BPM, playing, without peers")
    var diagnostics = Link(tempo: 90).diagnostics
    #expect("\(diagnostics)".contains(" 0 peers;"))
    diagnostics.peerCount = 1
    #expect("\(diagnostics)".contains(" 1 peer;"))
    state.setTempo(.nan, at: .now)
    state.setTempo(5_000, at: Link.now + .seconds(86_400 * 365 * 700))
    #expect(state.tempo == 90)
    let configuration = Link.Configuration(tempo: 90, interfaces: ["lo"], isStartStopSyncEnabled: true)
    #expect(try Link(configuration: configuration).isStartStopSyncEnabled)
    func isKept(_: some Codable) -> Bool { true }
    #expect(isKept(configuration) && isKept(Link.now))
  }
}
