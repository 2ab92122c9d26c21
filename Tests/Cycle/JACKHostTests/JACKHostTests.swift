// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusJACK
import Glibc
import LinkBeatMath
import LinkSystem
import TactusChoices
import TactusTestSupport
import Testing

@testable import TactusJACK

/// Tests with a real server, one at a time: a process can use one JACK server only.
@Suite(.serialized, .enabled(if: Lab.isHere)) struct JACKHostTests {
  @Test func `all six ports of tactus and their metadata exist from the start`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    let neighbour = try Neighbour(server)
    #expect(
      neighbour.ports.isSuperset(of: [
        "tactus:clock", "tactus:control", "tactus:click_1", "tactus:click_2", "tactus:pulse", "tactus:run",
      ]))
    #expect(neighbour.property("pretty-name", of: "tactus:click_1") == "Click 1")
    #expect(neighbour.property("signal-type", of: "tactus:click_1") == "AUDIO")
    #expect(neighbour.property("signal-type", of: "tactus:run") == "CV")
    #expect(neighbour.property("event-types", of: "tactus:clock") == "MIDI")
    #expect(neighbour.property("port-group", of: "tactus:pulse") == "gates")
    #expect(neighbour.property("order", of: "tactus:control") == "5")
    #expect(live.host.server.clientName == "tactus")
    #expect(live.host.server.sampleRate == 48_000)
    #expect(live.host.server.framesPerPeriod == server.period)
  }

  @Test(.enabled(if: !TestServer.isPipeWire, "its libjack does not wait for an answer"))
  func `a server that does not answer is reported, and tactus can still end`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    try await live.run { live.exchange.cycleCount > 50 }
    #expect(live.host.isRunning)
    server.stop()
    try await live.run(for: 200)
    // From now on commands must not reach the server, which is silent.
    live.edit { $0.setTempo(133, at: HostClock.micros()) }
    live.host.want([.clickToSpeakers])
    try await live.run { live.events.contains(.serverSilent) }
    #expect(!live.host.isRunning && !live.host.report.launch.isHolding)
    live.command(.play)
    server.goOn()
    try await live.run { live.events.contains(.serverAnswers) }
    #expect(live.host.isRunning)
    server.stop()
    live.host.close()
    #expect(live.host.isLeaving)
    server.goOn()
    try await live.run { !live.host.isLeaving }
  }

  @Test(.enabled(if: !TestServer.isPipeWire, "its libjack does not wait for an answer"))
  func `a server that does not release us is reported, and we rejoin it`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    try await live.run { live.exchange.cycleCount > 50 }
    server.stop()
    live.host.stepOut(at: HostClock.micros())
    #expect(live.host.isLeaving)
    try await live.run { !live.events.isEmpty }
    #expect(live.events == [.serverSilent])
    try await live.run(for: 500)
    #expect(live.events == [.serverSilent])
    server.goOn()
    try await live.run { live.host.isRunning && live.exchange.cycleCount > 50 }
    #expect(live.events.contains { if case .serverReturned = $0 { true } else { false } })
  }

  @Test(.enabled(if: !TestServer.isPipeWire, "its libjack cancels no thread"))
  func `a client that cuts its socket to jackd can then be closed`() async throws {
    let server = try await TestServer()
    let client = try JACKClient(name: "leaver", server: server.name)
    #expect(jack_activate(client.handle) == 0 && jack_deactivate(client.handle) == 0)
    let hangUp = HangUp(client.handle)
    #expect(hangUp.isOver)
    client.close()
    // With two clients in this process, no client hangs up: libjack would think that the server has gone.
    let one = try JACKClient(name: "one", server: server.name)
    let other = try JACKClient(name: "other", server: server.name)
    #expect(!HangUp(one.handle).isOver)
    #expect(other.ports(JackPortIsPhysical).isEmpty == false)
  }

  @Test func `a server that runs no cycles is reported, and so is its next cycle`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    try await live.run { live.exchange.cycleCount > 50 }
    server.stop()
    try await live.run { live.events.contains(.serverSilent) }
    #expect(!live.host.isRunning && !live.host.report.isMoving)
    server.goOn()
    try await live.run { live.events.contains(.serverAnswers) }
    #expect(live.host.isRunning)
  }

  @Test(.enabled(if: !TestServer.isPipeWire, "it tells nobody of a stall"))
  func `each late wake-up of the driver is counted once`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    try await live.run { live.exchange.cycleCount > 50 }
    let before = live.exchange.xrunCount
    for count in 1...3 {
      try await server.stall(milliseconds: 100)
      try await live.run { live.exchange.xrunCount >= before + count }
      try await live.run(for: 100)
    }
    #expect(live.exchange.xrunCount < before + 20)
  }

  @Test func `a second tactus gets a client name of its own`() async throws {
    let server = try await TestServer()
    let first = try LiveHost(server)
    let second = try LiveHost(server)
    #expect(first.host.server.clientName == "tactus")
    #expect(second.host.server.clientName.hasPrefix("tactus-"))
    try await first.run { first.exchange.cycleCount > 5 && second.exchange.cycleCount > 5 }
  }

  @Test func `port latencies follow connections and a new period at any time`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    let neighbour = try Neighbour(server)
    try await live.run(for: 100)
    #expect(live.host.latencies[.click1] == 0)

    neighbour.connect("tactus:click_1", Neighbour.amplifier)
    try await live.run { live.host.latencies[.click1] == 3 * 256 }
    #expect(jack_set_buffer_size(neighbour.handle, 512) == 0)
    try await live.run { live.host.server.framesPerPeriod == 512 }
    try await live.run { live.host.latencies[.click1] == 3 * 512 }
    #expect(live.events.contains(.periodChanged(frames: 512)))

    neighbour.disconnect("tactus:click_1", Neighbour.amplifier)
    try await live.run { live.host.latencies[.click1] == 0 }
    #expect(jack_set_buffer_size(neighbour.handle, 256) == 0)
    try await live.run { live.host.server.framesPerPeriod == 256 }
    neighbour.connect("tactus:click_2", Neighbour.amplifier)
    try await live.run { live.host.latencies[.click2] == 3 * 256 }
  }

  @Test(.enabled(if: !TestServer.isPipeWire, "PipeWire's null sink has no latency"))
  func `the physical outputs' latency stays right for a new period`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    let neighbour = try Neighbour(server)
    try await live.run { live.host.latencies[.jack] == 512 }
    neighbour.connect("tactus:click_1", TestServer.outputs[0])
    try await live.run { live.host.latencies[.click1] == 512 }
    #expect(jack_set_buffer_size(neighbour.handle, 1024) == 0)
    try await live.run { live.host.latencies[.jack] == 2048 }
    try await live.run { live.host.latencies[.click1] == 2048 }
  }

  @Test func `the start and the end of a server's freewheeling are noticed`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    let neighbour = try Neighbour(server)
    // PipeWire freewheels only clients that are connected with the client that asks for it.
    neighbour.connect("tactus:click_1", Neighbour.amplifier)
    #expect(jack_set_freewheel(neighbour.handle, 1) == 0)
    try await live.run { live.events.contains(.freewheel(true)) }
    #expect(live.exchange.isFreewheeling)
    #expect(jack_set_freewheel(neighbour.handle, 0) == 0)
    try await live.run { live.events.contains(.freewheel(false)) }
    let cycles = live.exchange.cycleCount
    try await live.run { live.exchange.cycleCount > cycles + 5 }
  }

  @Test(arguments: [SIGKILL, SIGTERM])
  func `our connections return with a server that ended and restarted`(signal: Int32) async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    do {
      let neighbour = try Neighbour(server)
      neighbour.connect("tactus:click_1", TestServer.outputs[0])
      neighbour.connect("tactus:click_2", TestServer.outputs[1])
      neighbour.connect("tactus:pulse", TestServer.outputs[0])
      try await live.run { live.host.connections.count == 3 }
      // The user cuts one of the connections, which is forgotten after a second.
      neighbour.disconnect("tactus:pulse", TestServer.outputs[0])
      try await live.run { live.host.connections.count == 2 }
    }
    server.end(signal)
    try await live.awaitLoss()
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
    try await live.run { neighbour.connections(of: "tactus:click_2") == [TestServer.outputs[1]] }
    #expect(neighbour.connections(of: "tactus:click_1") == [TestServer.outputs[0]])
    #expect(neighbour.connections(of: "tactus:pulse") == [])
    #expect(live.events.contains(.serverReturned(live.host.server)))
  }

  @Test func `a wished connection is made once, when the other port appears`()
    async throws
  {
    let server = try await TestServer()
    let live = try LiveHost(server)
    let click = Connection(port: .click1, other: Neighbour.amplifier)
    let keys = Connection(port: .control, other: "neighbour:keys")
    let never = Connection(port: .pulse, other: "nobody:there")
    #expect(live.host.wish(for: [click, keys, never]))
    try await live.run(for: 300)
    #expect(live.host.connections == [click, keys, never])
    let neighbour = try Neighbour(server)
    try await live.run { neighbour.connections(of: "tactus:control") == ["neighbour:keys"] }
    try await live.run { neighbour.connections(of: "tactus:click_1") == [Neighbour.amplifier] }
    neighbour.disconnect("tactus:click_1", Neighbour.amplifier)
    try await live.run { live.host.connections == [keys, never] }
    try await live.run(for: 300)
    #expect(neighbour.connections(of: "tactus:click_1") == [])
    let many = (0..<512).map { Connection(port: .pulse, other: "nobody:port_\($0)") }
    #expect(!live.host.wish(for: Set(many)))
  }

  @Test func `the map from JACK's to Link's clock is exact to a few microseconds`() async throws {
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

  @Test func `clicks are heard on the beat through a new period and a freewheel`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    live.click(beatsPerMinute: 600)
    let neighbour = try Neighbour(server)
    let listener = try Listener(server)
    // The click gets a second, longer route. The latency of the longest route is used.
    neighbour.connect("tactus:click_1", Neighbour.amplifier)
    try await live.run { live.host.latencies[.click1] == 3 * 256 }
    func expectOnTheBeat() async throws {
      let errors = try await live.clickErrors(listener, count: 9)
      #expect(abs(errors.sorted()[errors.count / 2]) < 500, "\(errors) µs from the beat")
    }
    try await expectOnTheBeat()
    #expect(jack_set_buffer_size(neighbour.handle, 1024) == 0)
    try await live.run { live.host.latencies[.click1] == 3 * 1024 }
    try await live.run(for: 500)
    try await expectOnTheBeat()
    #expect(jack_set_freewheel(neighbour.handle, 1) == 0)
    try await live.run(for: 100)
    #expect(jack_set_freewheel(neighbour.handle, 0) == 0)
    try await live.run(for: 500)
    try await expectOnTheBeat()
  }

  @Test(.enabled(if: !TestServer.isPipeWire, "PipeWire's freewheel driver is as slow as its clients let it"))
  func `no click is missing after minutes of freewheeling`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    live.click(beatsPerMinute: 600)
    let neighbour = try Neighbour(server)
    let listener = try Listener(server)
    _ = try await live.clickErrors(listener, count: 3)
    let cycles = live.exchange.cycleCount
    #expect(jack_set_freewheel(neighbour.handle, 1) == 0)
    // 20,000 cycles are 107 seconds of audio.
    try await live.run { live.exchange.cycleCount > cycles + 20_000 }
    #expect(jack_set_freewheel(neighbour.handle, 0) == 0)
    try await live.run { !live.exchange.isFreewheeling }
    listener.forget()
    try await live.run(for: 1_500)
    let heard = listener.count()
    #expect((13...17).contains(heard), "\(heard) clicks in a second and a half of ten a second")
    let errors = try await live.clickErrors(listener, count: 9)
    #expect(abs(errors.sorted()[errors.count / 2]) < 500, "\(errors) µs from the beat")
  }

  @Test func `clicks return to the beat after the server stalls`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    live.click(beatsPerMinute: 600)
    let listener = try Listener(server)
    try await live.run(for: 500)
    for _ in 0..<3 {
      try await server.stall(milliseconds: 60)
      // From here on JACK's own frame times are wrong for seconds.
      let errors = try await live.clickErrors(listener, count: 5)
      #expect(abs(errors.sorted()[errors.count / 2]) < 500, "\(errors) µs from the beat")
    }
  }

  @Test(arguments: [20, 120, 300])
  func `a click with swing is heard at its swung place`(tempo: Double) async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    live.click(beatsPerMinute: tempo)
    live.change { ($0.click.subdivision, $0.click.swing) = (4, Swing(share: 620, perBeat: 4)) }
    let listener = try Listener(server)
    try await live.run(for: 500)
    let places = [0, 0.31, 0.5, 0.81]
    let errors = try await live.clickErrors(listener, count: 12, places: places).map(abs).sorted()
    #expect(errors[6] < 500 && errors[9] < 3_000, "\(errors) µs from their places at \(tempo) BPM")
  }

  @Test(.enabled(if: TestServer.isPipeWire, "jackd keeps its sample rate"))
  func `a server's new sample rate is noticed and clicks stay on the beat`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    live.click(beatsPerMinute: 600)
    let listener = try Listener(server)
    try await live.run { live.exchange.cycleCount > 20 }
    let forced = try await ChildProcess.run([
      "pw-metadata", "-n", "settings", "0", "clock.force-rate", "44100",
    ])
    #expect(forced.status == 0, "\(forced.errors)")
    try await live.run { live.host.server.sampleRate == 44_100 }
    #expect(live.events.contains(.sampleRateChanged(44_100)))
    let errors = try await live.clickErrors(listener, count: 9)
    #expect(abs(errors.sorted()[errors.count / 2]) < 500, "\(errors) µs from the beat")
  }
}
