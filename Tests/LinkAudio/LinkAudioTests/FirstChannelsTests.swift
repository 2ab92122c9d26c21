// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAudio
import TactusTestSupport
import Testing

/// The article `FirstChannels` of LinkAudio's documentation. Its code stands between the marks below, word
/// for word, and is compiled and run.
struct FirstChannelsTests {
  // begin audio
  struct Rack: ~Copyable {
    var link: Link.AudioHandle
    var input: LinkAudio.SendEnd
    var output: LinkAudio.ReceiveEnd
    let sampleRate: Int

    /// `start` is when the first frame passes through the server, `latency` the frames from there to the
    /// speaker.
    @_noLocks @_noAllocation
    mutating func process(
      start: Link.Instant, latency: Double, recorded: Span<Float>, played: consuming MutableSpan<Float>
    ) {
      let state = link.capture()
      var period = LinkAudio.Period(state, frames: recorded.count, sampleRate: sampleRate, start: start)
      input.send(period, recorded)
      period.latencyFrames = latency
      output.render(period, delay: .standard, &played)
    }
  }
  // end audio

  @Test func `the program of the article FirstChannels is silent without peers`() throws {
    // begin peer
    let link = Link(tempo: 120)
    let audio = try LinkAudio(link, peerName: "Rack")
    audio.onChannels { channels in print(channels) }
    // end peer
    // begin lanes
    let input = LinkAudio.SendLane(.mono)
    let sink = try audio.publish(input, as: "Guitar")

    let output = LinkAudio.ReceiveLane(longestDelay: .seconds(12))
    var source: LinkAudio.Source?
    if let bass = audio.channels.first(where: { $0.name == "Bass" }) {
      source = try audio.subscribe(output, to: bass.id)
    }
    // end lanes
    var rack = Rack(
      link: link.takeAudio()!, input: input.takeEnd()!, output: output.takeEnd()!, sampleRate: 48_000)
    let recorded = [Float](repeating: 0.5, count: 256)
    var played = recorded
    for period in 0..<100 {
      let start = Link.now.advanced(frames: period * 256, sampleRate: 48_000)
      rack.process(start: start, latency: 256, recorded: recorded.span, played: played.mutableSpan)
      #expect(played.allSatisfy { $0 == 0 })
    }
    // begin figures
    let figures = output.figures
    print(figures.isPlaying, figures.delay, figures.jitter, figures.lost, figures.dropouts)
    for peer in audio.diagnostics.peers { print(peer.name, peer.roundTrip) }
    print(sink.listenerCount, source?.isConnected ?? false)
    // end figures
    #expect(!figures.isPlaying && input.refusedCount == 0)
    // begin leave
    source = nil
    audio.isEnabled = false
    // end leave
    #expect(source == nil && !audio.isEnabled && !link.isEnabled)
  }

  @Test func `silence fills both output buffers even if their lengths differ`() {
    let link = Link(tempo: 120)
    let lane = LinkAudio.ReceiveLane()
    var end = lane.takeEnd()!
    var (left, right) = ([Float](repeating: 0.5, count: 256), [Float](repeating: 0.5, count: 128))
    let period = LinkAudio.Period(link.capture(), frames: 256, sampleRate: 48_000, start: Link.now)
    end.render(period, delay: .standard, left: left.mutableSpan, right: right.mutableSpan)
    #expect(left.allSatisfy { $0 == 0 } && right.allSatisfy { $0 == 0 })
    right = [Float](repeating: 0.5, count: 300)
    let none: [Float] = []
    var empty = none
    end.render(period, delay: .standard, left: empty.mutableSpan, right: right.mutableSpan)
    #expect(right.prefix(256).allSatisfy { $0 == 0 } && right.suffix(44).allSatisfy { $0 == 0.5 })
  }

  @Test func `an output period of more than 8192 frames is filled with silence`() {
    let link = Link(tempo: 120)
    let lane = LinkAudio.ReceiveLane()
    var end = lane.takeEnd()!
    let period = LinkAudio.Period(link.capture(), frames: 9000, sampleRate: 48_000, start: Link.now)
    var samples = [Float](repeating: 0.5, count: 9000)
    var span = samples.mutableSpan
    end.render(period, delay: .standard, &span)
    #expect(samples.allSatisfy { $0 == 0 })
    samples = [Float](repeating: 0.5, count: 9000)
    samples.withUnsafeMutableBufferPointer {
      end.render(period, delay: .standard, left: $0.baseAddress!, right: nil)
    }
    #expect(samples.allSatisfy { $0 == 0 })
  }

  @Test func `the code of the article FirstChannels is compiled in this test`() throws {
    let article = try Article(
      "Sources/LinkAudio/LinkAudio/LinkAudio.docc/FirstChannels.md", compiledIn: #filePath,
      leavingOut: ["link.isEnabled = true", "audio.isEnabled = true"])
    #expect(article.marks == ["peer", "lanes", "audio", "figures", "leave"])
    for mark in article.marks { #expect(article.isCompiled(mark), "\(mark)") }
  }
}
