// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import TactusTestSupport
import Testing

@testable import LinkSession

/// The recorded session of LinkHut 3.0.6 and Ableton's library, as a third peer hears it: every Alive and
/// ByeBye at its time. The two peers answer our pings by the clocks that their own pongs show.
@Suite struct CapturedSessionTests {
  private struct Datagram {
    let at: Micros
    let source: Endpoint
    let isToGroup: Bool
    let bytes: [UInt8]
  }

  private static let recording: [Datagram] = {
    let recorded = CapturedDatagram.recorded(as: "linkhut")
    return recorded.map { datagram in
      Datagram(
        at: Micros(datagram.time - recorded[0].time + 60_000_000),
        source: Endpoint(.v4(datagram.source.address), port: datagram.source.port),
        isToGroup: datagram.destination.address == 0xe04c_4e4b, bytes: datagram.bytes)
    }
  }()

  /// The clock of each measurement endpoint, by session, as its recorded pongs show it.
  private func clocks() -> [Endpoint: [SessionID: GhostMap]] {
    var offsets: [Endpoint: [SessionID: [Double]]] = [:]
    for datagram in Self.recording {
      datagram.bytes.withUnsafeBytes { bytes in
        guard case .pong(let pong)? = try? decodeMeasurement(bytes) else { return }
        let offset = Double((pong.ghost - datagram.at).count)
        offsets[datagram.source, default: [:]][pong.session, default: []].append(offset)
      }
    }
    return offsets.mapValues { $0.mapValues { GhostMap(intercept: Micros(rounding: $0.median)) } }
  }

  @Test func `our peer joins a recorded session and follows it to its end`() throws {
    let recording = Self.recording
    try #require(recording.count == 360)
    let clocks = clocks()
    let gateway = Gateway(
      id: GatewayID(rawValue: 1), address: .v4(0x7f00_0001),
      measurement: Endpoint(.v4(0x7f00_0001), port: 1))
    // We start after LinkHut and before Ableton's library, so that LinkHut's session is the oldest.
    var bench = Bench(tempo: 77, at: recording[0].at + Micros(1_500_000), isEnabled: false)
    bench.handle(.enable(true))
    bench.handle(.enableStartStopSync(true))
    bench.handle(.gatewayOpened(gateway))
    var tempos: [Int64] = []
    var wasPlaying = false
    var most = 0
    var announced: [Endpoint: SessionID] = [:]
    for datagram in recording where datagram.isToGroup && datagram.at >= bench.now {
      while bench.now < datagram.at {
        bench.wait(min(10_000, (datagram.at - bench.now).count))
        answer(&bench, gateway, clocks, announced)
      }
      datagram.bytes.withUnsafeBytes { bytes in
        if case .alive(let state, _)? = try? decodeDiscovery(bytes), let endpoint = state.measurement {
          announced[endpoint] = state.session
        }
      }
      bench.receive(bytes: datagram.bytes, from: datagram.source, on: gateway)
      answer(&bench, gateway, clocks, announced)
      let snapshot = bench.snapshot
      if tempos.last != snapshot.sessionTimeline.tempo.microsPerBeat {
        tempos.append(snapshot.sessionTimeline.tempo.microsPerBeat)
      }
      wasPlaying = wasPlaying || snapshot.state.isPlaying
      most = max(most, snapshot.peerCount)
    }
    #expect(most == 2)
    #expect(tempos.last == 486_027, "123.45 BPM: \(tempos)")
    #expect(wasPlaying)
    #expect(bench.machine.counters.joins >= 1)
    #expect(bench.machine.counters.malformed == 0)
    #expect(bench.machine.counters.implausible == 0)
    bench.wait(10_000_000)
    #expect(bench.snapshot.peerCount == 0)
    #expect(bench.snapshot.session == bench.snapshot.node)
    #expect(bench.snapshot.sessionTimeline.tempo.microsPerBeat == 486_027)
  }

  private func answer(
    _ bench: inout Bench, _ gateway: Gateway, _ clocks: [Endpoint: [SessionID: GhostMap]],
    _ announced: [Endpoint: SessionID]
  ) {
    for _ in 0..<60 {
      let pings = bench.takeSent().filter { $0.ping != nil }
      guard !pings.isEmpty else { return }
      for sent in pings {
        guard case .endpoint(let endpoint) = sent.destination, let ping = sent.ping,
          let session = announced[endpoint],
          let clock = clocks[endpoint]?[session] ?? clocks.values.compactMap({ $0[session] }).first
        else { continue }
        let pong = makePong(
          session: session, ghost: clock.ghost(atHost: bench.now), host: ping.host,
          previousGhost: ping.previousGhost)
        bench.receive(bytes: pong, from: endpoint, on: gateway, via: .measurement)
      }
    }
  }
}
