// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkBeatMath
import LinkSystem
import TactusTestSupport
import Testing

@testable import Link

/// Programs on a machine that has run out of threads or descriptors.
@Suite(.enabled(if: Lab.isHere, "needs tools/lab --no-server"))
struct ScarcityTests {
  /// Starts `link-peer` with a limit of the system.
  private func begin(_ limit: String, in network: PrivateNetwork) throws -> ChildProcess {
    try network.perform { try ChildProcess(["prlimit", limit, "--", Lab.products + "/link-peer"]) }
  }

  private func ask(_ peer: ChildProcess, _ line: String) throws -> [String: FlatJSON] {
    peer.send(line)
    let answer = try peer.line(within: .seconds(30)) ?? "ended: \(peer.saidOnErrors)"
    return try #require(FlatJSON.object(answer), "\(answer)")
  }

  @Test func `without free descriptors Link works alone until some are free`() throws {
    let network = try PrivateNetwork()
    let other = try network.link(tempo: 120)
    other.isEnabled = true
    let poor = try begin("--nofile=4:1024", in: network)
    #expect(try ask(poor, "enable on")["ok"] == .boolean(true))
    #expect(try ask(poor, "tempo 131")["ok"] == .boolean(true))
    #expect(try ask(poor, "status")["tempo"] == .number(131))
    _ = try ChildProcess.run(["prlimit", "--pid", "\(poor.identifier)", "--nofile=1024"])
    #expect(try ask(poor, "wait peers 1 15")["ok"] == .boolean(true))
    #expect(eventually { other.peerCount == 1 })
    poor.closeInput()
    #expect(poor.status() == 0)
  }

  /// So few descriptors are enough to start, but not for a socket of each kind.
  @Test(arguments: [6, 8]) func `with too few descriptors Link says that it is not on the network`(
    descriptors: Int
  ) throws {
    let poor = try begin("--nofile=\(descriptors):1024", in: try PrivateNetwork())
    try tellsOfItsLoneliness(poor)
  }

  /// So few descriptors are enough for the loopback gateway, but not for the gateway to other machines.
  @Test(arguments: [10, 11]) func `with only a loopback gateway Link says it is not on the network`(
    descriptors: Int
  )
    throws
  {
    let network = try PrivateNetwork()
    let other = try PrivateNetwork()
    try network.cable("wire0", to: other, "wire0")
    try other.ip("link set wire0 up")
    // The second address is added when the first is open, because of two addresses the lower one is opened
    // first.
    let poor = try begin("--nofile=\(descriptors):1024", in: network)
    try tellsOfItsLoneliness(poor) {
      #expect(eventually { (try? ask(poor, "gateways")["gateways"]) == .number(1) })
      try network.ip("addr add 10.0.0.1/24 dev wire0")
      try network.ip("link set wire0 up")
    }
  }

  private func tellsOfItsLoneliness(_ poor: ChildProcess, then next: () throws -> Void = {}) throws {
    #expect(try ask(poor, "enable on")["ok"] == .boolean(true))
    try next()
    #expect(try ask(poor, "wait mute on 10")["ok"] == .boolean(true))
    // A scan that gets no descriptor changes nothing.
    usleep(300_000)
    #expect(try ask(poor, "status")["mute"] == .boolean(true))
    _ = try ChildProcess.run(["prlimit", "--pid", "\(poor.identifier)", "--nofile=1024"])
    #expect(try ask(poor, "wait mute off 15")["ok"] == .boolean(true))
    poor.closeInput()
    #expect(poor.status() == 0)
  }

  @Test func `if no thread can be started Link works alone`() throws {
    // No thread can have a stack of 200 terabytes.
    let poor = try begin("--stack=200000000000000", in: try PrivateNetwork())
    #expect(try ask(poor, "enable on")["ok"] == .boolean(true))
    #expect(try ask(poor, "tempo 131")["ok"] == .boolean(true))
    #expect(try ask(poor, "status")["tempo"] == .number(131))
    poor.closeInput()
    #expect(poor.status() == 0)
  }

  @Test func `diagnostics name the missing resource`() {
    let failure = SystemFailure(call: "pthread_create", code: EAGAIN)
    let engine = Engine(
      Link.Configuration(tempo: 100), seed: 1, far: nil, at: Micros(1), status: LinkStatus())
    #expect(
      Link.Diagnostics(engine, failure).failure?.description
        == "pthread_create: Resource temporarily unavailable")
    #expect(Link.Diagnostics(engine, nil).failure == nil)
  }
}
