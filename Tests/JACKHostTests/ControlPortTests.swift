// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Linux
import TestSupport
import Testing

@testable import JACKHost

extension JACKHostTests {
  @Test func `notes that come in through control are handed on`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    let neighbour = try Neighbour(server)
    neighbour.connect("neighbour:keys", "tactus:control")
    var message: ControlMessage?
    try await live.run {
      message = live.exchange.nextControlMessage()
      return message != nil
    }
    #expect(message?.bytes == [0x90, 60, 1])
    let age = HostClock.micros() - (message?.moment ?? .zero)
    #expect(age > Micros(-100_000) && age < Micros(5_000_000), "\(age.count) us old")
  }

  @Test func `of notes that nobody fetches the first are kept, the others counted, and later ones come`()
    async throws
  {
    let server = try await TestServer()
    let live = try LiveHost(server)
    let neighbour = try Neighbour(server)
    neighbour.connect("neighbour:keys", "tactus:control")
    try await live.run { live.exchange.report().lostMIDI >= 20 }
    neighbour.disconnect("neighbour:keys", "tactus:control")
    try await live.run(for: 100)
    let lost = live.exchange.report().lostMIDI
    var kept: [ControlMessage] = []
    while let message = live.exchange.nextControlMessage() { kept.append(message) }
    // As many as may wait, in their order.
    #expect(kept.count == 256 && zip(kept, kept.dropFirst()).allSatisfy { $0.moment < $1.moment })
    neighbour.connect("neighbour:keys", "tactus:control")
    var later: ControlMessage?
    try await live.run {
      later = later ?? live.exchange.nextControlMessage()
      return later != nil
    }
    #expect((later?.moment ?? .zero) > (kept.last?.moment ?? .zero))
    #expect(live.exchange.report().lostMIDI == lost)
  }
}
