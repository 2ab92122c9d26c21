// SPDX-License-Identifier: GPL-2.0-or-later
import Link
import TactusTestSupport
import Testing

/// The streams from which tasks read the changes of a session.
@Suite struct StreamTests {
  @Test(.timeLimit(.minutes(1)))
  func `a stream has the present status, each change, and ends with the Link`() async {
    var link: Link? = Link(tempo: 100)
    let updates = link!.updates(), again = link!.updates()
    var heard: [Double] = []
    for wanted in [100.0, 101, 102] {
      for await status in updates {
        heard.append(status.tempo)
        break
      }
      link!.update { state, now in state.setTempo(wanted + 1, at: now) }
    }
    #expect(heard == [100, 101, 102])
    #expect(await updates.first { $0.tempo == 103 }?.isPlaying == false)
    #expect(link!.tempo == 103 && !link!.isPlaying)
    link!.update { state, now in state.setPlaying(true, at: now) }
    #expect(link!.isPlaying)
    let playing = await updates.first { $0.isPlaying }
    #expect(playing.map { "\($0)" } == "103.0 BPM, playing, 0 peers" && playing?.isConnected == false)
    let late = link!.updates()
    link = nil
    #expect(await updates.first { _ in true } == nil)
    // A stream that was not read has the newest value, then ends.
    for stream in [again, late] {
      var told: [Link.Status] = []
      for await status in stream { told.append(status) }
      #expect(told == [playing])
    }
  }

  @Test(.timeLimit(.minutes(1)))
  func `a cancelled task gets no more changes and streams keep no Link alive`() async {
    weak var gone: Link?
    do {
      let link = Link(tempo: 100)
      gone = link
      let task = Task { [stream = link.updates()] in
        for await _ in stream {}
        return true
      }
      task.cancel()
      #expect(await task.value)
      // A thousand streams are made that no task reads.
      for _ in 0..<1_000 { _ = link.updates() }
      let kept = (0..<1_000).map { _ in link.updates() }
      link.update { state, now in state.setTempo(101, at: now) }
      #expect(link.capture().tempo == 101 && kept.count == 1_000)
    }
    #expect(gone == nil)
  }

  @Test func `withLink leaves the network on return and on throw`() async throws {
    struct Mishap: Error {}
    // The interface does not exist, so nothing is sent.
    let alone = Link.Configuration(tempo: 90, interfaces: ["nowhere0"])
    var kept: Link?
    await #expect(throws: Mishap.self) {
      try await withLink(alone) { link in
        kept = link
        #expect(link.isEnabled && link.capture().tempo == 90)
        throw Mishap()
      }
    }
    #expect(kept?.isEnabled == false)
    let tempo = try await withLink(alone) { link in link.capture().tempo }
    #expect(tempo == 90)
    await #expect(throws: Link.ConfigurationError.tempo(7)) {
      try await withLink(Link.Configuration(tempo: 7)) { _ in }
    }
  }
}
