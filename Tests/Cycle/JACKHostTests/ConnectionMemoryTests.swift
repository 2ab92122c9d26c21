// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import Testing

@testable import TactusJACK

@Suite struct ConnectionMemoryTests {
  private let left = Connection(port: .click1, other: "system:playback_1")
  private let synth = Connection(port: .clock, other: "synth:in")
  private let second = Micros(1_000_000)

  private func memory(of connections: Set<Connection>) -> ConnectionMemory {
    var memory = ConnectionMemory()
    memory.observe(connections, at: .zero) { _ in true }
    return memory
  }

  @Test func `a connection that the user cuts is forgotten after a second`() {
    var memory = memory(of: [left, synth])
    memory.observe([left], at: Micros(10), portExists: { _ in true })
    #expect(memory.remembered == [left, synth])
    #expect(memory.isUndecided)
    memory.observe([left], at: Micros(10) + second, portExists: { _ in true })
    #expect(memory.remembered == [left])
    #expect(!memory.isUndecided)
  }

  @Test func `a cut connection that is made again within a second is kept`() {
    var memory = memory(of: [left])
    memory.observe([], at: Micros(10), portExists: { _ in true })
    memory.observe([left], at: Micros(500_000), portExists: { _ in true })
    memory.observe([], at: Micros(600_000), portExists: { _ in true })
    memory.observe([], at: Micros(10) + second, portExists: { _ in true })
    #expect(memory.remembered == [left])
  }

  @Test func `the connections of a program that ends are remembered`() {
    var memory = memory(of: [synth])
    memory.observe([], at: Micros(10), portExists: { _ in false })
    memory.observe([], at: Micros(10) + second + second, portExists: { _ in false })
    #expect(memory.remembered == [synth])
  }

  @Test func `the connections of our own port return once, with that port`() {
    let drums = Connection(port: "Studio_Drums_l", other: "ardour:in")
    var memory = memory(of: [left, drums])
    let isThere = { (port: String) in port != "Studio_Drums_l" }
    memory.observe([left], at: Micros(10), portExists: isThere)
    memory.observe([left], at: Micros(10) + second + second, portExists: isThere)
    #expect(memory.takeReturned(portExists: isThere) == [])
    #expect(memory.takeReturned { _ in true } == [drums])
    #expect(memory.takeReturned { _ in true } == [])
    #expect(memory.remembered == [left, drums])
  }

  @Test func `connections that a server cuts before it ends are remembered`() {
    var memory = memory(of: [left, synth])
    memory.observe([], at: second, portExists: { _ in true })
    memory.serverLost()
    // The server is back and the ports exist, but nothing is connected yet.
    memory.observe([], at: second + second, portExists: { _ in true })
    #expect(memory.remembered == [left, synth])
  }

  @Test func `the number of remembered connections is limited`() {
    let many = Set((0..<2_000).map { Connection(port: .pulse, other: "p\($0)") })
    let memory = memory(of: many)
    #expect(memory.remembered.count == ConnectionMemory.limit)
    #expect(memory.refusedCount == 2_000 - ConnectionMemory.limit)
  }
}
