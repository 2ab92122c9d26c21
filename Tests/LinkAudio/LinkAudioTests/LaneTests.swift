// SPDX-License-Identifier: GPL-2.0-or-later
import AudioLanes
import Glibc
import TactusTestSupport
import Testing

@testable import LinkAudio

/// Lanes and their ends as other programs use them.
@Suite struct LaneTests {
  @Test func `an end keeps its lane and there is one at a time`() {
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

  @Test func `a period beyond its samples is cut`() {
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

  @Test func `a lane belongs to one channel and a wrong request is refused`() throws {
    let audio = LinkAudio(Link(tempo: 120), peerName: "Rack")
    let (sent, received) = (LinkAudio.SendLane(.mono), LinkAudio.ReceiveLane())
    var sink: LinkAudio.Sink? = try audio.publish(sent, as: "a")
    #expect(throws: LinkAudio.RequestError.laneInUse) { try audio.publish(sent, as: "b") }
    let id = try #require(sink?.id)
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

  @Test(.timeLimit(.minutes(1)))
  func `the stream of channels begins with the present ones and ends`() async {
    var audio: LinkAudio? = LinkAudio(Link(tempo: 120), peerName: "Rack")
    let updates = audio!.channelUpdates()
    var lists: [[LinkAudio.Channel]] = []
    audio = nil
    for await list in updates { lists.append(list) }
    #expect(lists == [[]])
  }
}
