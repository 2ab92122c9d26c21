// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import CJACK
import Glibc
import Testing

@testable import JACKHost

/// With a real server. One at a time: a process can use one JACK server only.
@Suite(.serialized) struct JACKHostTests {
  @Test func `all six ports are there from the start and say what they are`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    let neighbour = try Neighbour(server)
    #expect(
      portNames(jack_get_ports(neighbour.handle, "^tactus:", nil, 0)).sorted()
        == [
          "tactus:clock", "tactus:control", "tactus:click_1", "tactus:click_2", "tactus:pulse", "tactus:run",
        ].sorted())
    #expect(property("pretty-name", of: "tactus:click_1", neighbour) == "Click 1")
    #expect(property("signal-type", of: "tactus:click_1", neighbour) == "AUDIO")
    #expect(property("signal-type", of: "tactus:run", neighbour) == "CV")
    #expect(property("event-types", of: "tactus:clock", neighbour) == "MIDI")
    #expect(property("port-group", of: "tactus:pulse", neighbour) == "gates")
    #expect(property("order", of: "tactus:control", neighbour) == "5")
    #expect(live.host.server.clientName == "tactus")
    #expect(live.host.server.sampleRate == 48_000)
    #expect(live.host.server.framesPerPeriod == server.period)
  }

  @Test func `a second tactus gets a name of its own`() async throws {
    let server = try await TestServer()
    let first = try LiveHost(server)
    let second = try LiveHost(server)
    #expect(first.host.server.clientName == "tactus")
    #expect(second.host.server.clientName.hasPrefix("tactus-"))
    try await first.run { first.exchange.cycleCount > 5 && second.exchange.cycleCount > 5 }
  }

  @Test func `latencies follow connections and a new period, also while running`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    let neighbour = try Neighbour(server)
    try await live.run { live.host.latencies.physical.longest > 0 }
    #expect(live.host.latencies.click1 == .zero)

    neighbour.connect("tactus:click_1", "system:playback_1")
    let physical = live.host.latencies.physical.longest
    try await live.run { live.host.latencies.click1.longest == physical }

    #expect(jack_set_buffer_size(neighbour.handle, 512) == 0)
    try await live.run { live.host.server.framesPerPeriod == 512 }
    try await live.run { live.host.latencies.click1.longest == physical * 2 }
    #expect(live.host.latencies.physical.longest == physical * 2)
    #expect(live.events.contains(.periodChanged(frames: 512)))

    jack_disconnect(neighbour.handle, "tactus:click_1", "system:playback_1")
    try await live.run { live.host.latencies.click1 == .zero }
  }

  @Test func `freewheeling is noticed, and its end`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    let neighbour = try Neighbour(server)
    #expect(jack_set_freewheel(neighbour.handle, 1) == 0)
    try await live.run { live.events.contains(.freewheel(true)) }
    #expect(live.exchange.isFreewheeling)
    #expect(jack_set_freewheel(neighbour.handle, 0) == 0)
    try await live.run { live.events.contains(.freewheel(false)) }
    let cycles = live.exchange.cycleCount
    try await live.run { live.exchange.cycleCount > cycles + 5 }
  }

  @Test(arguments: [SIGKILL, SIGTERM])
  func `a server that ends and returns finds us again, connected as before`(signal: Int32) async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    do {
      let neighbour = try Neighbour(server)
      neighbour.connect("tactus:click_1", "system:playback_1")
      neighbour.connect("tactus:click_2", "system:playback_2")
      neighbour.connect("tactus:pulse", "system:playback_1")
      try await live.run { live.host.latencies.pulse.longest > 0 }
      // The user cuts one of them for good.
      jack_disconnect(neighbour.handle, "tactus:pulse", "system:playback_1")
      try await live.run(for: 1_500)
    }
    server.end(signal)
    try await live.run { !live.host.isRunning }
    let lost = live.events.contains { if case .serverLost = $0 { true } else { false } }
    #expect(lost)
    try await live.run(for: 300)

    try await server.start()
    let took = try await live.run { live.host.isRunning }
    let cycles = live.exchange.cycleCount
    try await live.run { live.exchange.cycleCount > cycles + 5 }
    #expect(took < Micros(3_000_000))
    #expect(live.host.server.clientName == "tactus")
    let neighbour = try Neighbour(server)
    try await live.run { neighbour.connections(of: "tactus:click_2") == ["system:playback_2"] }
    #expect(neighbour.connections(of: "tactus:click_1") == ["system:playback_1"])
    #expect(neighbour.connections(of: "tactus:pulse") == [])
    #expect(live.events.contains(.serverReturned(live.host.server)))
  }

  @Test func `JACK's clock is found on Link's to a few microseconds`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    try await live.run(for: 1_500)
    var worst: Int64 = 0
    for _ in 0..<50 {
      let pair = ClockPair.read()
      guard pair.bracket.count <= 2 else { continue }
      worst = max(worst, abs((live.host.clockMap.link(fromJACK: pair.jack) - pair.link).count))
    }
    #expect(worst <= 3)
    #expect((live.host.clockMap == .identity) == !TestServer.isPipeWire)
  }

  private func property(_ key: String, of port: String, _ neighbour: Neighbour) -> String? {
    var value: UnsafeMutablePointer<CChar>?
    var type: UnsafeMutablePointer<CChar>?
    let subject = jack_port_uuid(jack_port_by_name(neighbour.handle, port))
    guard jack_get_property(subject, "http://jackaudio.org/metadata/" + key, &value, &type) == 0, let value
    else { return nil }
    return String(cString: value)
  }
}
