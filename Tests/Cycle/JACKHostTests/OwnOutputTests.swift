// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkBeatMath
import LinkSystem
import TactusChoices
import TactusTestSupport
import Testing

@testable import TactusJACK

extension JACKHostTests {
  private static func clock(_ name: String, _ change: (inout OutputSettings) -> Void = { _ in }) -> OwnOutput
  {
    var settings = OutputSettings(.clock)
    settings.clock?.when = .always
    change(&settings)
    return OwnOutput(name: name, settings: settings)
  }

  private static func gate(_ name: String, _ kind: OutputKind = .pulse) -> OwnOutput {
    OwnOutput(name: name, settings: OutputSettings(kind))
  }

  @Test func `a user's output keeps its port's connection at new settings`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    let neighbour = try Neighbour(server)
    let ours = { neighbour.ports.filter { $0.contains("own_") } }
    live.host.carry(outputs: [Self.clock("own_drums"), Self.gate("own_ppq")])
    try await live.run { ours().count == 2 }
    #expect(Set(ours()) == ["tactus:own_drums", "tactus:own_ppq"])
    #expect(neighbour.property("pretty-name", of: "tactus:own_drums") == "own_drums (MIDI clock)")
    #expect(neighbour.property("signal-type", of: "tactus:own_ppq") == "CV")
    #expect(neighbour.connect("tactus:own_ppq", Neighbour.amplifier))
    try await live.run { live.clocks("own_drums") > 48 }
    var louder = Self.gate("own_ppq")
    louder.settings.gate?.level = 0.5
    live.host.carry(outputs: [louder])
    try await live.run { ours() == ["tactus:own_ppq"] }
    #expect(neighbour.connections(of: "tactus:own_ppq") == [Neighbour.amplifier])
    #expect(live.host.outputPorts.keys.sorted() == ["own_ppq"])
    live.host.carry(outputs: [])
    try await live.run { ours().isEmpty }
  }

  @Test func `an output that changes its kind gets that kind's metadata`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    let neighbour = try Neighbour(server)
    let port = "tactus:own_x"
    for (kind, name, group, signal) in [
      (OutputKind.click, "own_x (click)", "click", "AUDIO"), (.pulse, "own_x (pulse)", "gates", "CV"),
      (.ltc, "own_x (timecode)", "timecode", "AUDIO"), (.reset, "own_x (reset)", "gates", "CV"),
    ] {
      live.host.carry(outputs: [Self.gate("own_x", kind)])
      // PipeWire delivers the properties one after the other.
      try await live.run {
        neighbour.property("pretty-name", of: port) == name
          && neighbour.property("port-group", of: port) == group
          && neighbour.property("signal-type", of: port) == signal
      }
    }
  }

  @Test func `a user's output regains its connection with its port or the server`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    let (mod, top) = (Self.gate("own_ppq"), Self.gate("own_top", .reset))
    let cable = Connection(port: "own_ppq", other: Neighbour.amplifier)
    do {
      let neighbour = try Neighbour(server)
      let isThere = { neighbour.ports.contains("tactus:own_ppq") }
      live.host.carry(outputs: [mod, top])
      try await live.run { isThere() }
      #expect(neighbour.connect("tactus:own_ppq", Neighbour.amplifier))
      try await live.run { live.host.connections == [cable] }
      live.host.carry(outputs: [top])
      try await live.run { !isThere() }
      try await live.run(for: 1500)
      live.host.carry(outputs: [top, mod])
      try await live.run { isThere() && neighbour.connections(of: "tactus:own_ppq") == [Neighbour.amplifier] }
    }
    try await live.run(for: 1500)
    #expect(live.host.connections == [cable])
    try await live.restartServer(SIGTERM)
    let neighbour = try Neighbour(server)
    try await live.run { neighbour.connections(of: "tactus:own_ppq") == [Neighbour.amplifier] }
  }

  @Test func `MIDI machines that play when the server ends get Stop on the next one`()
    async throws
  {
    let server = try await TestServer()
    let live = try LiveHost(server)
    live.change {
      $0.launch.moment = .now
      $0.clock.isOn = true
    }
    let clocks = ["tactus:clock", "tactus:own_drums"]
    live.host.carry(outputs: [Self.clock("own_drums")])
    do {
      let neighbour = try Neighbour(server)
      let watch = try TransportWatch(server)
      try await live.run { neighbour.ports.isSuperset(of: clocks) }
      for clock in clocks { #expect(neighbour.connect(clock, Neighbour.machine)) }
      try await live.run(for: 500)
      #expect(neighbour.starts == 0 && neighbour.stops == 0)
      watch.play()
      try await live.run(beside: neighbour) { neighbour.starts == 2 }
      try await live.run(for: 1_000)
    }
    try await live.restartServer(SIGKILL)
    let neighbour = try Neighbour(server)
    try await live.run(beside: neighbour) { neighbour.stops == 2 }
    try await live.run(for: 300)
    #expect(neighbour.starts == 0 && neighbour.stops == 2)
  }

  @Test func `a MIDI port can have the name of an audio port that was removed`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    let neighbour = try Neighbour(server)
    live.host.carry(outputs: [Self.gate("own_box")])
    try await live.run { neighbour.ports.contains("tactus:own_box") }
    live.host.carry(outputs: [Self.clock("own_box")])
    try await live.run { live.clocks("own_box") > 24 }
  }

  @Test func `32 outputs of the user play together, each on its beats`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    let neighbour = try Neighbour(server)
    let many = (0..<32).map { $0 % 2 == 0 ? Self.gate("own_\($0)") : Self.clock("own_\($0)") }
    live.host.carry(outputs: many)
    try await live.run { neighbour.ports.count { $0.contains("own_") } == 32 }
    live.host.carry(outputs: many + [Self.gate("own_32")])
    try await live.run {
      stride(from: 1, to: 32, by: 2).allSatisfy { live.clocks("own_\($0)") > 96 }
    }
    #expect(!neighbour.ports.contains("tactus:own_32"))
    let listener = try Listener(server, at: "own_0")
    let errors = try await live.clickErrors(listener, count: 12).sorted()
    #expect(abs(errors[errors.count / 2]) < 500, "\(errors)")
  }
}

extension LiveHost {
  /// The number of clock messages that this output has sent.
  fileprivate func clocks(_ name: String) -> UInt64 { host.outputPorts[name]?.figures?.sent ?? 0 }

  /// Waits, as `run` does, until the neighbour has got MIDI messages. A message does not arrive if its cycle
  /// is lost. So if the wait is in vain for five seconds, and cycles were lost, the test ends as not judged.
  fileprivate func run(beside neighbour: Neighbour, until isDone: () -> Bool) async throws {
    let (before, lostBefore) = (exchange.report(), neighbour.lostCycles)
    let end = HostClock.micros() + Micros(5_000_000)
    func hasLost() -> Bool {
      !exchange.report().isQuiet(since: before) || neighbour.lostCycles > lostBefore
    }
    try await run { isDone() || HostClock.micros() > end && hasLost() }
    if !isDone() { try unjudged("cycles were lost in which a MIDI message may have been") }
  }
}
