// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkAudioLanes
import LinkBeatMath
import Testing

@testable import TactusJACK

extension JACKHostTests {
  private static func voice(_ lane: SendLane) -> AudioChannelPorts {
    AudioChannelPorts(name: "send_Voice", pretty: "Send Voice", lane: .send(lane))
  }

  private static func drums(_ lane: ReceiveLane?) -> AudioChannelPorts {
    AudioChannelPorts(name: "Studio_Drums", pretty: "Studio/Drums", lane: .receive(lane))
  }

  @Test func `a Link Audio channel's ports stay connected while its sound changes`()
    async throws
  {
    let server = try await TestServer()
    let live = try LiveHost(server)
    let neighbour = try Neighbour(server)
    live.host.carry([Self.voice(SendLane(channels: 1)), Self.drums(nil)])
    let ours = { neighbour.ports.filter { $0.contains("Voice") || $0.contains("Drums") } }
    try await live.run { ours().count == 3 }
    #expect(ours() == ["tactus:send_Voice", "tactus:Studio_Drums_l", "tactus:Studio_Drums_r"])
    #expect(neighbour.property("pretty-name", of: "tactus:Studio_Drums_r") == "Studio/Drums right")
    #expect(neighbour.connect("tactus:Studio_Drums_l", Neighbour.amplifier))
    weak var old: ReceiveLane?
    do {
      let lane = ReceiveLane()
      old = lane
      live.host.carry([Self.voice(SendLane(channels: 1)), Self.drums(lane)])
    }
    try await live.run(for: 200)
    #expect(old != nil)
    live.host.carry([Self.drums(ReceiveLane())])
    try await live.run { ours().count == 2 && old == nil }
    #expect(neighbour.connections(of: "tactus:Studio_Drums_l") == [Neighbour.amplifier])
    live.host.carry([])
    try await live.run { ours().isEmpty }
  }

  @Test func `a sent channel gets its port's audio with seamless beat stamps`()
    async throws
  {
    let server = try await TestServer()
    let live = try LiveHost(server)
    let lane = SendLane(channels: 2)
    live.host.carry([Self.drums(nil), AudioChannelPorts(name: "send_Mix", pretty: "Mix", lane: .send(lane))])
    try await live.run(for: 300)
    var frames = 0
    lane.drain { period, _ in frames += Int(period.frames) }
    #expect(frames == 0)
    lane.isWanted = true
    // Half a frame is 21 millionths of a beat at 120 BPM. A lost cycle makes a gap of a whole period.
    var (seams, wholePeriods, others) = (0, 0, 0)
    var last: Int64?
    let lostCycles = { Int(live.exchange.report().times.lostCycles) }
    let lostBefore = lostCycles()
    for _ in 0..<10 {
      try await live.run(for: 100)
      lane.drain { period, _ in
        frames += Int(period.frames)
        if let last {
          let (gap, length) = (period.begin - last, period.end - period.begin)
          let periods = (gap + length / 2) / length
          seams += 1
          if abs(gap - periods * length) > 5 { others += 1 } else if periods > 0 { wholePeriods += 1 }
        }
        last = period.end
      }
    }
    #expect(frames > 10_000)
    #expect(others * 5 <= seams)
    #expect(wholePeriods * 5 <= seams + 5 * (lostCycles() - lostBefore))
  }

  @Test func `a Link Audio channel's connections return with server and channel`()
    async throws
  {
    let server = try await TestServer()
    let live = try LiveHost(server)
    let channels = [Self.voice(SendLane(channels: 1)), Self.drums(ReceiveLane())]
    live.host.carry(channels)
    let microphone = "system:capture_1"
    let hasMicrophone: Bool
    do {
      let neighbour = try Neighbour(server)
      try await live.run { neighbour.ports.contains("tactus:Studio_Drums_r") }
      #expect(neighbour.connect("tactus:Studio_Drums_l", Neighbour.amplifier))
      // The PipeWire server of these tests has only a speaker.
      hasMicrophone = neighbour.ports.contains(microphone)
      #expect(hasMicrophone != TestServer.isPipeWire)
      if hasMicrophone { #expect(neighbour.connect(microphone, "tactus:send_Voice")) }
      try await live.run { live.host.connections.count == (hasMicrophone ? 2 : 1) }
    }
    try await live.restartServer(SIGTERM)
    let neighbour = try Neighbour(server)
    let drums = { neighbour.connections(of: "tactus:Studio_Drums_l") }
    try await live.run { drums() == [Neighbour.amplifier] }
    try await live.run {
      neighbour.connections(of: "tactus:send_Voice") == (hasMicrophone ? [microphone] : [])
    }
    // The channel is not received for a while. The connection is remembered until the channel is received
    // again.
    live.host.carry([channels[0]])
    try await live.run { !neighbour.ports.contains("tactus:Studio_Drums_l") }
    try await live.run(for: 1_500)
    live.host.carry(channels)
    try await live.run { drums() == [Neighbour.amplifier] }
    neighbour.disconnect("tactus:Studio_Drums_l", Neighbour.amplifier)
    try await live.run { live.host.connections.count == (hasMicrophone ? 1 : 0) }
  }

  @Test func `a connection cut as soon as it has returned stays cut`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    live.host.carry([Self.drums(ReceiveLane())])
    do {
      let neighbour = try Neighbour(server)
      try await live.run { neighbour.ports.contains("tactus:Studio_Drums_l") }
      #expect(neighbour.connect("tactus:Studio_Drums_l", Neighbour.amplifier))
      try await live.run { !live.host.connections.isEmpty }
    }
    try await live.restartServer(SIGTERM)
    let neighbour = try Neighbour(server)
    let drums = { neighbour.connections(of: "tactus:Studio_Drums_l") }
    try await live.run { drums() == [Neighbour.amplifier] }
    neighbour.disconnect("tactus:Studio_Drums_l", Neighbour.amplifier)
    try await live.run(for: 500)
    #expect(drums() == [])
    try await live.run { live.host.connections.isEmpty }
  }

  @Test func `Link Audio channels have ports again on a server that returns`() async throws {
    let server = try await TestServer()
    let live = try LiveHost(server)
    live.host.carry([Self.voice(SendLane(channels: 1)), Self.drums(ReceiveLane())])
    try await live.run(for: 300)
    server.end(SIGTERM)
    try await live.awaitLoss()
    live.host.carry([Self.drums(ReceiveLane())])
    try await server.start()
    try await live.run { live.host.isRunning }
    let neighbour = try Neighbour(server)
    let ours = { neighbour.ports.filter { $0.contains("Voice") || $0.contains("Drums") } }
    try await live.run { ours() == ["tactus:Studio_Drums_l", "tactus:Studio_Drums_r"] }
  }
}
