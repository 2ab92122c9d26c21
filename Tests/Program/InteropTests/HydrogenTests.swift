// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

/// Hydrogen with its window, a song and its own sound.
@Suite struct HydrogenTests {
  @Test func `Hydrogen starts with a kick on the bar, each kick on a beat`() async throws {
    let stage = try await LabStage()
    let session = try await StartedSession("hydrogen", in: stage)
    let ears = try await Ears("Hydrogen:out_L", in: stage)
    let tablet = try LabPeer(.reference, in: stage)
    try await tablet.ask("enable on")
    try await tablet.ask("sync on")
    try await tablet.wait("peers", "2")
    // From frame 0, a start begins in the cycle nearest to its beat. From 5 ms into the song and from the
    // second bar, the start is exact to the frame; 5 ms into the song, Hydrogen still plays the first kick.
    let secondBar = Int((4 * 60 / 133.0 * 48_000).rounded())
    for (tempo, frame) in [(120.0, 0), (133, 0), (133, 240), (133, secondBar)] {
      try await tablet.ask("tempo \(tempo)")
      let transport = try LabPeer(.jack, in: stage)
      try await transport.wait("tempo", "\(tempo)")
      let kicks = try await Interop.undisturbed(in: stage) {
        try await tablet.ask("stop")
        try await transport.wait("playing", "false")
        #expect(try await ears.receiveSilence(within: 20))
        try await transport.ask("locate \(frame)")
        try await tablet.ask("play")
        return try await ears.listen(forIntervals: 8)
      }
      // There is no other sound between the kicks, and the song's first beat is the first beat of the bar.
      #expect(abs(kicks.interval - 60_000 / tempo) < 0.1, "\(kicks.interval)")
      #expect(abs(kicks.lateness) < (frame == 0 ? 3 : 0.5), "\(kicks.map(\.late))")
      if let first = kicks.first { #expect(first.beat.rounded().remainder(dividingBy: 4) == 0) }
      let place = "at \(tempo) BPM from frame \(frame)"
      print("Hydrogen \(place): kicks \(kicks.lateness) ms after the beat, median of \(kicks.count)")
      let shown = try await PeerStatus(transport.ask("status"))
      #expect(shown.isPlaying)
      try await tablet.ask("stop")
      try await transport.wait("playing", "false")
      #expect(try await ears.receiveSilence(within: 20))
    }
    #expect(await session.end() == 0)
  }
}
