// SPDX-License-Identifier: GPL-2.0-or-later
import Link
import TactusTestSupport
import Testing

/// The article `FirstSteps` of Link's documentation. Its code stands between the marks below, word for word,
/// and is compiled and run.
struct FirstStepsTests {
  // begin audio
  struct Metronome: ~Copyable {
    var link: Link.AudioHandle
    let sampleRate: Double
    let quantum = 4.0
    var isRunning = false

    /// `begin` is when the first frame is heard.
    @_noLocks @_noAllocation
    mutating func render(_ frames: UnsafeMutableBufferPointer<Float>, begin: Link.Instant) {
      var state = link.capture()
      if state.isPlaying && !isRunning {
        // Beat 0 now if we are alone, else where the others have their next bar.
        state.requestBeatAtStart(0, quantum: quantum)
        link.commit(state)
      }
      isRunning = state.isPlaying
      var last = state.phase(at: begin.advanced(frames: -1, sampleRate: sampleRate), quantum: 1)
      for index in frames.indices {
        let time = begin.advanced(frames: index, sampleRate: sampleRate)
        let phase = state.phase(at: time, quantum: 1)
        // A click where a new beat begins; before beat 0 the count-in is silent.
        let isClick = isRunning && phase < last && state.beat(at: time, quantum: quantum) >= 0
        frames[index] = isClick ? 1 : 0
        last = phase
      }
    }
  }
  // end audio

  @Test(.enabled(if: Lab.isHere, "needs tools/lab --no-server"))
  func `the program of the article FirstSteps works as described`() throws {
    let network = try PrivateNetwork()
    let link = try network.link(tempo: 120)
    try follow(link)
    #expect(link.capture().tempo == 121)
    #expect(!link.isEnabled)
    var metronome = Metronome(link: link.takeAudio()!, sampleRate: 48_000)
    let begin = link.capture().timeOfPlaying
    var clicks: [Int] = []
    withUnsafeTemporaryAllocation(of: Float.self, capacity: 480) { frames in
      for buffer in 0..<200 {
        metronome.render(frames, begin: begin + .milliseconds(10 * buffer))
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
    var state = link.capture()
    print(state, state.beat(at: .now, quantum: 4))
    state.setTempo(state.tempo + 1, at: .now)
    link.commit(state)
    // end change
    // begin start
    link.isStartStopSyncEnabled = true
    link.update { state, now in
      state.setPlaying(true, at: now, requestingBeat: 0, quantum: 4)
    }
    // end start
    // begin leave
    link.isEnabled = false
    // end leave
  }

  @Test func `all code of the article FirstSteps is compiled in this test`() throws {
    let article = try Article(
      "Sources/Link/Link/Link.docc/FirstSteps.md", compiledIn: #filePath,
      leavingOut: ["link.isEnabled = true"])
    #expect(article.marks == ["peer", "change", "audio", "start", "leave"])
    for mark in article.marks { #expect(article.isCompiled(mark), "\(mark)") }
  }
}
