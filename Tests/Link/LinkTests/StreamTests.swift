// SPDX-License-Identifier: GPL-2.0-or-later
import Link
import TactusTestSupport
import Testing

/// The streams of changes for tasks.
@Suite struct StreamTests {
  @Test(.timeLimit(.minutes(1))) func `a stream has each change and ends with the Link`() async {
    var link: Link? = Link(tempo: 100)
    let tempos = link!.tempoChanges(), again = link!.tempoChanges(), starts = link!.startStopChanges()
    var heard: [Double] = []
    for wanted in [101.0, 102, 103] {
      link!.updateAppState { $0.setTempo(wanted, at: Link.clock()) }
      for await tempo in tempos {
        heard.append(tempo)
        break
      }
    }
    #expect(heard == [101, 102, 103])
    link!.updateAppState { $0.setPlaying(true, at: Link.clock()) }
    for await isPlaying in starts {
      #expect(isPlaying)
      break
    }
    link = nil
    #expect(await starts.first { _ in true } == nil)
    // A stream that was not read has the newest value, then ends.
    var late: [Double] = []
    for await tempo in again { late.append(tempo) }
    #expect(late == [103])
  }

  @Test(.timeLimit(.minutes(1)))
  func `a cancelled task gets no more and streams keep no Link alive`() async {
    weak var gone: Link?
    do {
      let link = Link(tempo: 100)
      gone = link
      let task = Task { [stream = link.peerChanges()] in
        for await _ in stream {}
        return true
      }
      task.cancel()
      #expect(await task.value)
      // A thousand streams without a reader.
      for _ in 0..<1_000 { _ = link.tempoChanges() }
      let kept = (0..<1_000).map { _ in link.connectionChanges() }
      link.updateAppState { $0.setTempo(101, at: Link.clock()) }
      #expect(link.captureAppState().tempo == 101 && kept.count == 1_000)
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
        #expect(link.isEnabled && link.captureAppState().tempo == 90)
        throw Mishap()
      }
    }
    #expect(kept?.isEnabled == false)
    let tempo = try await withLink(alone) { link in link.captureAppState().tempo }
    #expect(tempo == 90)
    await #expect(throws: Link.ConfigurationError.tempo(7)) {
      try await withLink(Link.Configuration(tempo: 7)) { _ in }
    }
  }
}
