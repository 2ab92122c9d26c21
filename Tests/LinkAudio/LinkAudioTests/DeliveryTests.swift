// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkAudioLanes
import LinkAudioSession
import LinkBeatMath
import LinkWire
import Synchronization
import TactusTestSupport
import Testing

@testable import Link
@testable import LinkAudio
@testable import LinkSession

/// Link Audio's datagrams leave in their order, and calls that send nothing do not wait for a socket.
@Suite(.enabled(if: Lab.isHere, "needs tools/lab --no-server"))
struct DeliveryTests {
  private static let gateway = AudioGateway(
    id: GatewayID(rawValue: 1), local: LocalAddress(address: .v4(0x7f00_0001), interface: 1))
  private static let session = SessionID(rawValue: 7)

  private static func engine() -> AudioEngine {
    var engine = AudioEngine(
      node: NodeID(rawValue: 1), session: session, peerName: "Rack", at: Link.clock())
    engine.want(true, at: Link.clock())
    return engine
  }

  private static let peer = NodeID(rawValue: 2)

  private static func sighting(of socket: AudioSocket) -> AudioSighting {
    let timeline = Timeline(tempo: Tempo(120), beatOrigin: .zero, timeOrigin: .zero)
    let state = PeerState(
      node: peer, session: session, timeline: timeline, startStop: .unset, measurement: nil,
      audio: socket.endpoint)
    return AudioSighting(
      PeerRecord(
        gateway: gateway.id, source: socket.endpoint.address, state: state, claim: timeline, heard: .zero,
        expiry: .zero))
  }

  private static func letters(_ sightings: AudioSighting..., isOverrun: Bool = false) -> AudioMail.Letters {
    AudioMail.Letters(
      gateways: isOverrun ? nil : [gateway], sightings: sightings, isOverrun: isOverrun)
  }

  @Test func `the audio engine only queues tasks, which run in order`() throws {
    try PrivateNetwork().perform {
      let ear = try AudioSocket(Self.gateway)
      var engine = Self.engine()
      var delivery = Delivery(Link(tempo: 120))
      func deliver() {
        delivery.adopt(&engine)
        delivery.carryOut()
      }
      let missing = engine.work(Self.letters(), at: Link.clock())
      #expect(missing == [Self.gateway])
      engine.adopt(missing.map { OpenedAudioSocket($0) }, at: Link.clock())
      #expect(engine.work(.init(), at: Link.clock()).isEmpty && delivery.sockets.isEmpty)
      deliver()
      #expect(delivery.sockets.count == 1)
      _ = engine.work(Self.letters(Self.sighting(of: ear)), at: Link.clock())
      #expect(heard(by: ear).isEmpty)
      deliver()
      let ping = try #require(heard(by: ear).first)
      guard case .announcement(_, .some(let echo)) = ping else {
        Issue.record("\(ping) is no ping")
        return
      }
      // The peer proves its endpoint and gets the channel. Then everything is turned off at once: the socket
      // must stay open until the last message has left.
      #expect({ engine.publish(SendLane(channels: 1), as: "Drums", at: Link.clock()) }() != nil)
      let isAnswered = AudioPacket.pong(echo, from: Self.peer).withUnsafeBytes {
        engine.receive($0, from: ear.endpoint, on: Self.gateway.id, waited: .zero, read: Link.clock())
      }
      engine.want(false, at: Link.clock())
      #expect(isAnswered && heard(by: ear).isEmpty && delivery.sockets.count == 1)
      deliver()
      let told = heard(by: ear)
      #expect(told.count > 1 && told.last == .byes && told.dropLast().contains { $0.channels == 1 })
      #expect(delivery.sockets.isEmpty && delivery.failedSends == 0)
    }
  }

  @Test func `after reports about peers were dropped, all sockets are reopened`() throws {
    try PrivateNetwork().perform {
      var engine = Self.engine()
      let missing = engine.work(Self.letters(), at: Link.clock())
      engine.adopt(missing.map { OpenedAudioSocket($0) }, at: Link.clock())
      #expect(engine.work(Self.letters(), at: Link.clock()).isEmpty)
      #expect(engine.work(Self.letters(isOverrun: true), at: Link.clock()) == [Self.gateway])
    }
  }

  @Test func `calls of the library return while a datagram is being sent`() throws {
    try PrivateNetwork().perform {
      let link = Link(tempo: 120)
      let audio = try LinkAudio(link, peerName: "Rack")
      link.isEnabled = true
      audio.isEnabled = true
      #expect(eventually { audio.thread.delivery.withLock { !$0.sockets.isEmpty } })
      let answered = Atomic(false)
      let work: @Sendable () -> Void = {
        let sink = audio.publish(SendLane(channels: 1), as: "Drums")
        sink?.rename(to: "Bass")
        audio.peerName = "Shelf"
        let source = audio.subscribe(ReceiveLane(), to: NodeID(rawValue: 3))
        _ = (audio.channels, audio.diagnostics, sink?.listenerCount, source?.isConnected, audio.isEnabled)
        answered.store(sink != nil && source != nil, ordering: .releasing)
      }
      // This holds the lock for sending, as if sending a datagram took a long time.
      let worker = audio.thread.delivery.withLock { _ in
        let worker = Worker(work)
        #expect(eventually { answered.load(ordering: .acquiring) })
        return worker
      }
      worker.join()
      #expect(audio.diagnostics.load.sinks == 0)
    }
  }
}

private enum Heard: Equatable {
  case announcement(channels: Int, ping: AudioEcho?)
  case byes, other

  var channels: Int? {
    if case .announcement(let channels, _) = self { channels } else { nil }
  }
}

/// Returns all datagrams that arrived since the last call.
private func heard(by socket: AudioSocket) -> [Heard] {
  withUnsafeTemporaryAllocation(byteCount: 1500, alignment: 8) { buffer in
    var said: [Heard] = []
    while let arrival = socket.receive(into: buffer) {
      switch (try? decodeAudio(UnsafeRawBufferPointer(rebasing: buffer[..<arrival.count])))?.body {
      case .announcement(let one): said.append(.announcement(channels: one.channels.count, ping: one.ping))
      case .byes: said.append(.byes)
      case .pong, .request, .stop, .audio, nil: said.append(.other)
      }
    }
    return said
  }
}

/// Whether the condition becomes true within twenty seconds.
private func eventually(_ condition: () -> Bool) -> Bool {
  for _ in 0..<20_000 {
    if condition() { return true }
    usleep(1_000)
  }
  return condition()
}
