// SPDX-License-Identifier: GPL-2.0-or-later
import TactusChoices
import TactusSync
import Testing

@testable import TactusJACK

extension JACKHostTests {
  @Test func `a slow sink of another program moves no bars and no launches`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    let card = try SoundCard(server, "card", latency: 240)
    let bt = try SoundCard(server, "bt", latency: 9_600)
    // If there are several sound cards, the host chooses the card that our click is connected to.
    card.connect("tactus:click_1", to: card.input)
    try await live.run { live.host.latencies[.jack] == 240 }
    #expect(live.host.sinks == SinkChoice(reason: .click("click_1"), ports: [card.input]))
    bt.connect(card.output, to: bt.input)
    try await live.run(for: 2_500)
    #expect(live.host.latencies[.jack] == 240)
    // A sink that the user names is chosen at once, even while the transport rolls.
    live.command(.play)
    live.change { $0.launch.moment = .now }
    try await live.run { live.exchange.report().song.isRolling }
    live.host.wantedSink = try #require(ChosenName("bt".utf8))
    try await live.run { live.host.latencies[.jack] == 9_600 }
    live.host.wantedSink = try #require(ChosenName("no such client".utf8))
    try await live.run { live.host.latencies[.jack] == 240 }
    #expect(live.host.sinks.isNameMissing)
    live.host.wantedSink = ChosenName()
    // New connections of the click, or of another program, do not move a song that rolls.
    bt.connect("tactus:click_1", to: bt.input)
    bt.connect(bt.output, to: card.input)
    card.disconnect("tactus:click_1", from: card.input)
    try await live.run(for: 2_500)
    #expect(live.host.latencies[.jack] == 240 && live.host.sinks.reason == .kept)
    live.command(.stop)
    try await live.run { live.host.latencies[.jack] == 9_600 }
    #expect(live.host.sinks.reason == .click("click_1"))
  }

  @Test func `without a click, the sinks to which programs play are chosen`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    let card = try SoundCard(server, "card", latency: 240)
    let bt = try SoundCard(server, "bt", latency: 9_600)
    try await live.run { live.host.latencies[.jack] == 9_600 }
    #expect(live.host.sinks.reason == .nobody)
    card.connect(bt.output, to: card.input)
    try await live.run { live.host.latencies[.jack] == 240 }
    #expect(live.host.sinks.reason == .programs)
    // From here on the click reaches a sink through a client that passes sound on.
    let neighbour = try Neighbour(server)
    neighbour.connect("tactus:click_1", Neighbour.amplifier)
    neighbour.connect("neighbour:sound", bt.input)
    try await live.run { live.host.latencies[.jack] == 9_600 }
    #expect(live.host.sinks == SinkChoice(reason: .click("click_1"), ports: [bt.input]))
  }
}
