// SPDX-License-Identifier: GPL-2.0-or-later
import Link
import TactusTestSupport
import Testing

/// The article `FirstSteps` of Link's documentation. Its code stands between the marks below, word for word,
/// and is compiled and run.
struct FirstStepsTests {
  // begin audio
  struct Metronome: ~Copyable {
    var link: AudioLink
    let sampleRate: Double
    let quantum = 4.0
    var isRunning = false
    var lastBeat = 0.0

    /// `begin` is when the first frame is heard.
    @_noLocks @_noAllocation
    mutating func render(_ frames: UnsafeMutableBufferPointer<Float>, begin: Micros) {
      var state = link.captureAudioState()
      if state.isPlaying && !isRunning {
        // Beat 0 now if we are alone, else where the others have their next bar.
        state.requestBeatAtStart(0, quantum: quantum)
        link.commitAudioState(state)
        lastBeat = state.beat(at: begin - Micros(1), quantum: quantum)
      }
      isRunning = state.isPlaying
      for index in frames.indices {
        let time = begin + Micros(rounding: Double(index) * 1e6 / sampleRate)
        let beat = state.beat(at: time, quantum: quantum)
        // A click where a new beat begins; before beat 0 the count-in is silent.
        let isClick = isRunning && beat >= 0 && Int64(flooring: beat) != Int64(flooring: lastBeat)
        frames[index] = isClick ? 1 : 0
        lastBeat = beat
      }
    }
  }
  // end audio

  @Test(.enabled(if: Lab.isHere, "needs tools/lab --no-server"))
  func `the program of the article works as described`() throws {
    let network = try PrivateNetwork()
    let link = try network.link(tempo: 120)
    try follow(link)
    #expect(link.captureAppState().tempo == 121)
    #expect(!link.isEnabled)
    var metronome = Metronome(link: link.takeAudio()!, sampleRate: 48_000)
    let begin = link.captureAppState().timeOfPlaying
    var clicks: [Int] = []
    withUnsafeTemporaryAllocation(of: Float.self, capacity: 480) { frames in
      for buffer in 0..<200 {
        metronome.render(frames, begin: begin + Micros(Int64(buffer) * 10_000))
        clicks += frames.indices.filter { frames[$0] == 1 }.map { buffer * 480 + $0 }
      }
    }
    // 121 BPM: a click every 23802 frames, the first where the song starts.
    #expect(clicks.count == 5 && clicks.first == 0)
    for (click, next) in zip(clicks, clicks.dropFirst()) { #expect(abs(next - click - 23_802) <= 1) }
  }

  func follow(_ given: Link) throws {
    do {
      // begin peer
      let link = Link(tempo: 120)
      link.onPeers { count in print("\(count) others") }
      link.onTempo { tempo in print("\(tempo) BPM") }
      // end peer
      #expect(!link.isEnabled)
    }
    let link = given
    link.isEnabled = true
    // begin change
    var state = link.captureAppState()
    print(state.tempo, state.beat(at: Link.clock(), quantum: 4))
    state.setTempo(state.tempo + 1, at: Link.clock())
    link.commitAppState(state)
    // end change
    // begin start
    link.isStartStopSyncEnabled = true
    link.updateAppState { state in
      state.setPlaying(true, at: Link.clock(), requestingBeat: 0, quantum: 4)
    }
    // end start
    // begin leave
    link.isEnabled = false
    // end leave
  }

  @Test func `the code of the article is compiled here`() throws {
    let article = try Article(
      "Sources/Link/Link/Link.docc/FirstSteps.md", compiledIn: #filePath,
      leavingOut: ["link.isEnabled = true"])
    #expect(article.marks == ["peer", "change", "audio", "start", "leave"])
    for mark in article.marks { #expect(article.isCompiled(mark), "\(mark)") }
  }
}
