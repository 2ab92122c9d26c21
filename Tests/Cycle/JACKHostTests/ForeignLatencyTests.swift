// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import LinkBeatMath
import LinkSystem
import TactusSync
import Testing

@testable import TactusJACK

/// Tests of latencies that other clients report.
@Suite struct ForeignLatencyTests {
  @Test(arguments: [8_000, 44_100, 48_000, 192_000, .max] as [UInt32])
  func `latencies of other clients above two seconds count as zero`(rate: UInt32) {
    let bound = UInt64(2) * UInt64(min(rate, 1_000_000))
    let ranges: [UInt32] = [0, 1, rate / 2, rate, .max / 2, .max - 1, .max]
    for frames in ranges + (0..<1_000).map({ _ in .random(in: 0...UInt32.max) }) {
      let believed = PortLatencies.plausible(frames, sampleRate: rate)
      #expect(UInt64(believed) <= bound && (believed == frames || believed == 0))
      #expect(UInt64(frames) > bound || believed == frames)
    }
  }

  @Test func `an impossible latency is counted once, until it is possible again`() throws {
    let ports = try (1...3).map { try #require(OpaquePointer(bitPattern: $0 * 16)) }
    var doubts = LatencyDoubts()
    for _ in 0..<100 {
      #expect(doubts.believed(.max, of: ports[0], sampleRate: 48_000) == 0)
      #expect(doubts.believed(96_001, of: ports[1], sampleRate: 48_000) == 0)
      #expect(doubts.believed(96_000, of: ports[2], sampleRate: 48_000) == 96_000)
    }
    #expect(doubts.count == 2)
    #expect(doubts.believed(256, of: ports[0], sampleRate: 48_000) == 256)
    #expect(doubts.believed(.max - 1, of: ports[0], sampleRate: 48_000) == 0)
    #expect(doubts.count == 3)
  }

  @Test func `an impossible latency is refused even if no more ports are counted`() throws {
    let ports = try (1...LatencyDoubts.limit + 2).map { try #require(OpaquePointer(bitPattern: $0 * 16)) }
    var doubts = LatencyDoubts()
    let believed = ports.map { doubts.believed(.max, of: $0, sampleRate: 48_000) }
    #expect(believed.allSatisfy { $0 == 0 })
    #expect(doubts.count == LatencyDoubts.limit)
    // If a port reports a possible latency again, another port can be remembered in its place.
    _ = doubts.believed(256, of: ports[0], sampleRate: 48_000)
    _ = doubts.believed(.max, of: ports[LatencyDoubts.limit], sampleRate: 48_000)
    #expect(doubts.count == LatencyDoubts.limit + 1)
  }

  @Test func `latencies up to two seconds are accepted, longer ones are counted`() {
    let ports = (1...8).compactMap { OpaquePointer(bitPattern: $0 * 16) }
    var doubts = LatencyDoubts()
    var isWild = [Bool](repeating: false, count: ports.count)
    var expected = 0
    for _ in 0..<20_000 {
      let place = Int.random(in: ports.indices)
      let frames: UInt32 = Bool.random() ? .random(in: 0...200_000) : .random(in: 0...UInt32.max)
      let believed = doubts.believed(frames, of: ports[place], sampleRate: 48_000)
      #expect(believed == (frames <= 96_000 ? frames : 0))
      if frames > 96_000, !isWild[place] { expected += 1 }
      isWild[place] = frames > 96_000
    }
    #expect(doubts.count == expected)
  }

  @Test func `a timebase call with an absurd length uses our cycle's own length`() {
    let rolling = Transport(state: .rolling, frame: 48_000)
    func next(_ told: UInt32, isLate: Bool = true, _ transport: Transport? = nil) -> UInt32 {
      CycleSource.frameToShow(transport ?? rolling, told: told, ofCycle: 256, isLate: isLate)
    }
    for told in [.max, UInt32(bitPattern: -256), .max / 2, 65_537] as [UInt32] {
      #expect(next(told) == 48_256, "\(told)")
    }
    for told in [16, 128, 1_024, 65_536] as [UInt32] { #expect(next(told) == 48_000 + told) }
    for told in [.max, 256] as [UInt32] {
      #expect(next(told, isLate: false) == 48_000)
      #expect(next(told, Transport(state: .starting, frame: 7)) == 7)
      #expect(next(told, Transport(state: .stopped, frame: 7)) == 7)
    }
    #expect(next(.max, Transport(state: .rolling, frame: .max - 5)) == 250, "the counter goes round")
  }
}

extension JACKHostTests {
  @Test func `an impossible latency of another client counts as zero`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    let neighbour = try Neighbour(server)
    neighbour.connect("tactus:click_1", Neighbour.amplifier)
    try await live.run { live.host.latencies[.click1] == 3 * 256 }
    // PipeWire 0.3 sometimes loses a change, so the latency is set again every two seconds. Its libjack waits
    // for itself for ever (seen in gdb) if it gets a request while the neighbour's callback sets a latency.
    // So each request comes half a second after the last change.
    func set(_ periods: UInt32, until isDone: () -> Bool) async throws {
      var next = HostClock.micros() + Micros(500_000)
      var requests = 0
      try await live.run {
        if HostClock.micros() >= next {
          neighbour.setPeriods(periods)
          requests += 1
          next = HostClock.micros() + Micros(2_000_000)
        }
        return requests > 0 && isDone()
      }
    }
    for periods in [UInt32.max / 256, 500_000, 400] {
      try await set(periods) { live.host.latencies[.click1] == 0 }
      #expect(try GraphSurvey(lookingAt: server.name).implausible == [Neighbour.amplifier])
    }
    #expect(live.exchange.refusedLatencyCount >= 1)
    let count = live.exchange.refusedLatencyCount
    try await live.run(for: 300)
    #expect(live.exchange.refusedLatencyCount == count, "the same is not counted again")
    try await set(2) { live.host.latencies[.click1] == 512 }
    #expect(try GraphSurvey(lookingAt: server.name).implausible.isEmpty)
  }

  @Test func `our outputs have no capture latency and our inputs no playback latency`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    let neighbour = try Neighbour(server)
    // PipeWire passes no latency on if two clients are connected in a loop.
    let click: UInt32 = TestServer.isPipeWire ? 0 : 768
    if !TestServer.isPipeWire { neighbour.connect("tactus:click_1", Neighbour.amplifier) }
    try await live.run { live.host.latencies[.click1] == click }
    neighbour.connect("neighbour:keys", "tactus:control")
    neighbour.setKeysLatency(1024)
    try await live.run { live.host.latencies[.control] == 1024 }
    #expect(live.host.latencies[.click1] == click)
    #expect(neighbour.latency(of: "tactus:click_1", JackCaptureLatency) == 0)
    #expect(neighbour.latency(of: "tactus:clock", JackCaptureLatency) == 0)
    #expect(neighbour.latency(of: "tactus:control", JackPlaybackLatency) == 0)
  }

  @Test func `our own MIDI Stop that returns to the port control is no command`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    let watch = try TransportWatch(server)
    let neighbour = try Neighbour(server)
    live.change {
      $0.launch.moment = .now
      $0.clock.isOn = true
    }
    neighbour.connect("tactus:clock", "tactus:control")
    watch.play()
    try await live.run { live.exchange.report().song.isRolling }
    var messages: [ControlMessage] = []
    for place in 1...6 {
      live.command(.locate(frame: UInt32(place) * 96_000))
      try await live.run(for: 300)
      while let message = live.exchange.nextControlMessage() { messages.append(message) }
    }
    #expect(messages.isEmpty && live.exchange.report().song.isRolling, "\(messages.map(\.bytes))")
  }
}
