// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkAudioLanes
import LinkWire
import TactusTestSupport
import Testing

@testable import LinkAudio

/// Lanes and their ends, used as other programs use them.
@Suite struct LaneTests {
  @Test func `a lane hands out one end at a time, and the end keeps the lane alive`() {
    weak var gone: LinkAudio.SendLane?
    weak var alsoGone: LinkAudio.ReceiveLane?
    var sending: LinkAudio.SendEnd?
    var receiving: LinkAudio.ReceiveEnd?
    do {
      let (sent, received) = (LinkAudio.SendLane(.mono), LinkAudio.ReceiveLane())
      (gone, alsoGone) = (sent, received)
      sending = sent.takeEnd()
      receiving = received.takeEnd()
      let isTaken = sent.takeEnd() == nil && received.takeEnd() == nil
      #expect(isTaken)
    }
    #expect(gone != nil && alsoGone != nil)
    do {
      let state = Link(tempo: 120).capture()
      var samples = [Float](repeating: 1, count: 64)
      let period = LinkAudio.Period(state, frames: 64, sampleRate: 48_000, start: Link.now)
      sending?.send(period, samples.span)
      samples.withUnsafeMutableBufferPointer {
        receiving?.skip(frames: 64, left: $0.baseAddress!, right: nil)
      }
      #expect(samples.allSatisfy { $0 == 0 })
    }
    sending = nil
    receiving = nil
    #expect(gone == nil && alsoGone == nil)
  }

  @Test func `a sent period with more frames than its buffers is cut`() {
    let lane = LinkAudio.SendLane(.stereo)
    var end = lane.takeEnd()!
    lane.lane.isWanted = true
    let state = Link(tempo: 120).capture()
    let period = LinkAudio.Period(state, frames: 256, sampleRate: 48_000, start: Link.now)
    let none: [Float] = []
    let (left, right) = ([Float](repeating: 0.25, count: 100), [Float](repeating: 0.5, count: 60))
    end.send(period, left: left.span, right: right.span)
    end.send(period, left.span)
    end.send(period, none.span)
    var lengths: [Int] = []
    lane.lane.drain { sent, samples in
      lengths.append(Int(sent.frames))
      #expect(samples[0] == 0.25 && (samples[1] == 0.5) == (sent.frames == 60))
    }
    #expect(lengths == [60, 100])
  }

  @Test func `a lane in use, an own channel and a 129th channel are refused`() throws {
    let audio = try LinkAudio(Link(tempo: 120), peerName: "Rack")
    let (sent, received) = (LinkAudio.SendLane(.mono), LinkAudio.ReceiveLane())
    var sink: LinkAudio.Sink? = try audio.publish(sent, as: "a")
    #expect(throws: LinkAudio.RequestError.laneInUse) { try audio.publish(sent, as: "b") }
    let own = try #require(sink?.id)
    #expect(throws: LinkAudio.RequestError.ownChannel) { try audio.subscribe(received, to: own) }
    let id = LinkAudio.Channel.ID(NodeID(rawValue: 3))
    var source: LinkAudio.Source? = try audio.subscribe(received, to: id)
    #expect(throws: LinkAudio.RequestError.laneInUse) { try audio.subscribe(received, to: id) }
    #expect(source?.channel == id)
    (sink, source) = (nil, nil)
    sink = try audio.publish(sent, as: "c")
    source = try audio.subscribe(received, to: id)
    var more: [LinkAudio.Sink] = []
    #expect(throws: LinkAudio.RequestError.tooManySinks(limit: 128)) {
      for _ in 0..<128 { more.append(try audio.publish(LinkAudio.SendLane(.mono), as: "d")) }
    }
    #expect(more.count == 127)
    #expect(LinkAudio.SendLane.Layout(rawValue: 3) == nil)
    #expect("\(LinkAudio.RequestError.laneInUse)" == "the lane belongs to another channel")
  }

  @Test func `a Link has one LinkAudio at a time`() throws {
    let link = Link(tempo: 120)
    var first: LinkAudio? = try LinkAudio(link, peerName: "Rack")
    #expect(throws: LinkAudio.RequestError.linkInUse) { try LinkAudio(link, peerName: "Shelf") }
    #expect(first?.peerName == "Rack")
    first = nil
    #expect(try LinkAudio(link, peerName: "Shelf").peerName == "Shelf")
  }

  @Test func `the diagnostics of Link Audio print as a readable line`() throws {
    let audio = try LinkAudio(Link(tempo: 120), peerName: "Rack")
    #expect("\(audio.diagnostics)" == "0 peers; received 0, malformed 0")
  }

  @Test func `at most 256 subscriptions and 128 subscribed channels are possible`() throws {
    let audio = try LinkAudio(Link(tempo: 120), peerName: "Rack")
    let channel = LinkAudio.Channel.ID(NodeID(rawValue: 3))
    let probe = LinkAudioLanes.ReceiveLane.probe()
    var sources = (0..<256).map { _ in audio.subscribe(probe, to: channel.node) }
    #expect(sources.allSatisfy { $0 != nil })
    let lane = LinkAudio.ReceiveLane()
    #expect(throws: LinkAudio.RequestError.tooManySources(limit: 256)) {
      try audio.subscribe(lane, to: channel)
    }
    sources = []
    sources = (0..<128).map { audio.subscribe(probe, to: NodeID(rawValue: 100 + $0)) }
    #expect(sources.allSatisfy { $0 != nil })
    #expect(throws: LinkAudio.RequestError.tooManyChannels(limit: 128)) {
      try audio.subscribe(lane, to: channel)
    }
    sources = []
    #expect(try audio.subscribe(lane, to: channel).channel == channel)
  }

  @Test(.timeLimit(.minutes(1)))
  func `a stream of channel lists has the present list and ends with LinkAudio`() async throws {
    var audio: LinkAudio? = try LinkAudio(Link(tempo: 120), peerName: "Rack")
    let updates = audio!.channelUpdates()
    var lists: [[LinkAudio.Channel]] = []
    audio = nil
    for await list in updates { lists.append(list) }
    #expect(lists == [[]])
  }
}
