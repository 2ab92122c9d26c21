// SPDX-License-Identifier: GPL-2.0-or-later
import LinkSession
import LinkWire
import TactusTestSupport
import Testing

@testable import Link

/// Link's datagrams leave in their order, and calls that send nothing do not wait for a socket.
@Suite(.enabled(if: Lab.isHere, "needs tools/lab --no-server"))
struct OutgoingTests {
  static var loopback: LocalAddress { LocalAddress(address: .v4(0x7f00_0001), interface: 1) }

  @Test func `the engine only queues datagrams, which are sent in order`() throws {
    let (before, after) = try PrivateNetwork().perform {
      let listener = try UDPSocket.listening(on: Self.loopback)
      var engine = Engine(
        Link.Configuration(tempo: 100), seed: 1, far: nil, at: Link.clock(), status: LinkStatus())
      engine.want(true, at: Link.clock())
      engine.work(at: Link.clock())
      engine.adopt([AddressScan.open(Self.loopback, as: GatewayID(rawValue: 1))])
      var state = engine.snapshot.state
      state.setTempo(125, at: Link.clock())
      engine.commit(try #require(state.change(at: Link.clock())), at: Link.clock())
      engine.want(false, at: Link.clock())
      let before = heard(by: listener)
      var made: [Outgoing] = []
      engine.takeOutgoing(&made)
      #expect(made.count == 3)
      for datagram in made { #expect(datagram.leave() == nil) }
      made.removeAll()
      engine.takeOutgoing(&made)
      #expect(made.isEmpty)
      return (before, heard(by: listener))
    }
    #expect(before.isEmpty)
    #expect(after == ["100.0", "125.0", "goodbye"])
  }

  @Test
  func `a capture returns while a datagram is being sent`()
    throws
  {
    try PrivateNetwork().perform {
      let listener = try UDPSocket.listening(on: Self.loopback)
      let link = Link(tempo: 120)
      link.isEnabled = true
      #expect(eventually { !link.diagnostics.addresses.isEmpty })
      let answered = Log<Double>()
      var workers: [Worker] = []
      // The lock for sending is held, as if another datagram were being sent for a long time.
      link.network.sending.withLock { _ in
        // This pause is longer than the least time between two states.
        pause(milliseconds: 100)
        _ = heard(by: listener)
        workers.append(Worker { link.updateAppState { $0.setTempo(125, at: Link.clock()) } })
        workers.append(
          Worker { if eventually({ link.captureAppState().tempo == 125 }) { answered.append(125) } })
        #expect(eventually { answered.all == [125] })
        #expect(heard(by: listener).isEmpty)
      }
      for worker in workers { worker.join() }
      var said: [String] = []
      #expect(
        eventually {
          said += heard(by: listener)
          return said.contains("125.0")
        })
    }
  }
}

/// The tempo of each new Alive, and the goodbyes.
private func heard(by listener: borrowing UDPSocket) -> [String] {
  withUnsafeTemporaryAllocation(byteCount: 600, alignment: 8) { buffer in
    var said: [String] = []
    while let arrival = listener.receive(into: buffer) {
      switch try? decodeDiscovery(UnsafeRawBufferPointer(rebasing: buffer[..<arrival.count])) {
      case .alive(let state, _): said.append("\(state.timeline.tempo.beatsPerMinute)")
      case .byeBye: said.append("goodbye")
      case .response, nil: said.append("?")
      }
    }
    return said
  }
}
