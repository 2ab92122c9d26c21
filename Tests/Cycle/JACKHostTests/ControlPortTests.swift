// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkSystem
import TactusTestSupport
import Testing

@testable import TactusJACK

extension JACKHostTests {
  @Test func `MIDI notes that arrive at the port control are passed on`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    let neighbour = try Neighbour(server)
    neighbour.connect("neighbour:keys", "tactus:control")
    var message: ControlMessage?
    try await live.run {
      message = live.exchange.nextControlMessage()
      return message != nil
    }
    #expect(message?.bytes.prefix(2) == [0x90, 60])
    let age = HostClock.micros() - (message?.moment ?? .zero)
    #expect(age > Micros(-100_000) && age < Micros(5_000_000), "\(age.count) us old")
  }

  @Test func `of unread notes at port control the oldest stay, others are counted`()
    async throws
  {
    let server = try await TestServer()
    let live = try LiveHost(server)
    let neighbour = try Neighbour(server)
    neighbour.connect("neighbour:keys", "tactus:control")
    try await live.run { live.exchange.report().outputs.lostMIDI >= 20 }
    neighbour.disconnect("neighbour:keys", "tactus:control")
    try await live.run(for: 100)
    let lost = live.exchange.report().outputs.lostMIDI
    var kept: [ControlMessage] = []
    while let message = live.exchange.nextControlMessage() { kept.append(message) }
    // The queue is full and in order. The numbers of the notes increase by one, or by more after a lost
    // cycle.
    #expect(kept.count == 256)
    let steps = zip(kept, kept.dropFirst()).map { (Int($1.bytes[2]) - Int($0.bytes[2]) + 127) % 127 }
    #expect(steps.allSatisfy { (1..<64).contains($0) }, "\(steps)")
    neighbour.connect("neighbour:keys", "tactus:control")
    var later: ControlMessage?
    try await live.run {
      later = later ?? live.exchange.nextControlMessage()
      return later != nil
    }
    #expect((later?.moment ?? .zero) > (kept.last?.moment ?? .zero))
    #expect(live.exchange.report().outputs.lostMIDI == lost)
  }

  @Test
  func `MIDI messages beyond the limit of a cycle are counted as lost`()
    async throws
  {
    let server = try await TestServer()
    let live = try LiveHost(server)
    live.edit { $0.setTempo(20, at: HostClock.micros()) }
    let neighbour = try Neighbour(server)
    try await live.run(for: 100)
    #expect(live.host.pollInterval == Micros(20_000))
    neighbour.ticks = 300
    neighbour.connect("neighbour:keys", "tactus:control")
    try await live.run { live.exchange.report().outputs.lostMIDI > 0 }
    #expect(live.host.pollInterval == Micros(4_000))
    neighbour.disconnect("neighbour:keys", "tactus:control")
    try await live.run { live.host.pollInterval == Micros(20_000) }
    let lost = live.exchange.report().outputs.lostMIDI
    #expect(lost > 0 && lost % 44 == 0, "\(lost) of 300 in a cycle, of which 256 are looked at")
    #expect(live.exchange.nextControlMessage() == nil)
    // A bar takes 12 seconds here, so the start waits.
    live.command(.play)
    #expect(live.host.pollInterval == Micros(2_000))
    try await live.run { live.host.report.launch.isHolding }
    try await live.run(for: 200)
    #expect(live.host.report.launch.isHolding && live.host.pollInterval == Micros(2_000))
    live.command(.stop)
    try await live.run { live.host.pollInterval == Micros(20_000) }
  }
}
