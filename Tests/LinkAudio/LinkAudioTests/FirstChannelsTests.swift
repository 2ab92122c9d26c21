// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAudio
import TactusTestSupport
import Testing

/// The article `FirstChannels` of LinkAudio's documentation. Its code stands between the marks below, word
/// for word, and is compiled and run.
struct FirstChannelsTests {
  // begin audio
  struct Rack: ~Copyable {
    var link: AudioLink
    let input: SendEnd
    let output: ReceiveEnd
    let sampleRate: UInt32

    /// `start` is in microseconds of `Link.clock()`, `latency` from there to the speaker.
    @_noLocks @_noAllocation
    mutating func process(
      _ frames: Int, start: Double, latency: Double, recorded: UnsafePointer<Float>,
      played: UnsafeMutablePointer<Float>
    ) {
      let grid = SessionGrid(link.captureAudioState())
      let frameMicros = 1e6 / Double(sampleRate)
      input.send(
        Recording(
          frames: frames, sampleRate: sampleRate, start: start, frameMicros: frameMicros,
          captureFrames: 0, offset: 0, grid: grid),
        left: recorded, right: nil)
      output.render(
        Hearing(
          frames: frames, sampleRate: sampleRate, start: start, frameMicros: frameMicros,
          latencyMicros: latency, grid: grid),
        delay: .standard, left: played, right: nil)
    }
  }
  // end audio

  @Test func `the program of the article compiles and is silent without peers`() {
    // begin peer
    let link = Link(tempo: 120)
    let audio = LinkAudio(link, peerName: "Rack")
    audio.onChannels { channels in print(channels.map { "\($0.peerName)/\($0.name)" }) }
    // end peer
    // begin lanes
    let input = SendLane(channels: 1)
    let sink = audio.publish(input, as: "Guitar")

    let output = ReceiveLane(longestDelay: 2)
    var source: AudioSource?
    if let bass = audio.channels.first(where: { $0.name == "Bass" }) {
      source = audio.subscribe(output, to: bass.id)
    }
    // end lanes
    var rack = Rack(link: link.takeAudio()!, input: input.audio, output: output.audio, sampleRate: 48_000)
    let recorded = [Float](repeating: 0.5, count: 256)
    var played = recorded
    for period in 0..<100 {
      let start = Double(Link.clock().count) + Double(period) * 256 / 0.048
      rack.process(256, start: start, latency: 5333, recorded: recorded, played: &played)
      #expect(played.allSatisfy { $0 == 0 })
    }
    // begin figures
    let figures = output.figures()
    print(figures.isPlaying, figures.delay, figures.jitter, figures.lost, figures.dropouts)
    for peer in audio.diagnostics.peers { print(peer.name, peer.metrics.roundTrip) }
    print(sink?.listenerCount ?? 0, source?.isConnected ?? false)
    // end figures
    #expect(sink != nil && !figures.isPlaying && input.refusedCount == 0)
    // begin leave
    source = nil
    audio.isEnabled = false
    // end leave
    #expect(source == nil && !audio.isEnabled && !link.isEnabled)
  }

  @Test func `the code of the article is compiled here`() throws {
    let article = try Article(
      "Sources/LinkAudio/LinkAudio/LinkAudio.docc/FirstChannels.md", compiledIn: #filePath,
      leavingOut: ["link.isEnabled = true", "audio.isEnabled = true"])
    #expect(article.marks == ["peer", "lanes", "audio", "figures", "leave"])
    for mark in article.marks { #expect(article.isCompiled(mark), "\(mark)") }
  }
}
