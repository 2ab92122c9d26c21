// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

extension Conformance {
  @Suite struct StartStopTests {
    /// The distance of the first click from the quantum's boundary, in beats.
    private func late(_ onsets: [Onset], quantum: Double = 4) -> Double? {
      guard let beat = onsets.first?.beat else { return nil }
      return beat - (beat / quantum).rounded() * quantum
    }

    private func expectStart(
      of heard: Heard, _ c: Conformance, _ what: String
    ) {
      let first = late(heard.ours)
      let said =
        "\(heard.ours.count) clicks; the first \(first.map { $0.rounded(places: 4) } ?? "never") beats from a multiple of 4"
      let isRight = first.map { abs($0) < 0.05 } ?? false
      if !isRight, !heard.isWhole { return c.record.undecided(what, "cycles were lost; " + said) }
      c.record.step(what, said, holds: isRight)
    }

    /// Listens to a start. Repeats it if the server lost a cycle, because the first click may have been lost
    /// with it.
    private func receiveStart(
      _ ears: EarPair, _ start: () async throws -> Void, backForAnotherTry: () async throws -> Void
    ) async throws -> Heard {
      var heard = try await ears.receive(seconds: 6.5, meanwhile: start)
      for _ in 0..<4 where !heard.isWhole && !(late(heard.ours).map { abs($0) < 0.05 } ?? false) {
        try await backForAnotherTry()
        heard = try await ears.receive(seconds: 6.5, meanwhile: start)
      }
      return heard
    }

    /// Expects no click later than a beat after the stop command.
    private func expectStop(
      of onsets: [Onset], at time: Double, tempo: Double, _ c: Conformance, _ what: String
    ) {
      let after = onsets.filter { $0.heard > time + 0.5 * 60e6 / tempo + 100_000 }
      c.record.step(
        what, "\(after.count) clicks later than half a beat and 100 ms after it", holds: after.isEmpty
      )
    }

    @Test(arguments: [1, 2])
    func `STARTSTOPSTATE-1: the app obeys start and stop from other peers`(hosts: Int)
      async throws
    {
      let title = "Listening to start/stop commands from other peers"
      try await Conformance.play("STARTSTOPSTATE-1", title, hosts: hosts) { c in
        let app = try await c.openApp()
        app.touch("startstop T")
        try await app.hears("startstop", "f:1.0")
        c.record.step("Open App, set Link and Start Stop Sync to Enabled")
        let linkhut = try c.openLinkHut()
        try await linkhut.ask("enable on")
        try await linkhut.ask("sync on")
        try await app.says("1 Link")
        let ears = try await c.listen()
        try await ears.joinSession()
        var heard = try await receiveStart(ears) {
          try await linkhut.ask("play")
        } backForAnotherTry: {
          try await linkhut.ask("stop")
          try await c.pause(1)
          app.touch("rewind")
          try await c.pause(0.5)
        }
        expectStart(
          of: heard, c,
          "Open LinkHut, set Link and Start Stop Sync to Enabled, press Play: App starts according to its quantization"
        )
        var stopped = 0.0
        heard = try await ears.receive(seconds: 4) {
          try await linkhut.ask("stop")
          stopped = Double(try await linkhut.ask("clock")["time"]?.number ?? 0)
        }
        expectStop(
          of: heard.ours, at: stopped, tempo: 120, c, "Stop playback in LinkHut: App stops playing")
      }
    }

    @Test(arguments: [1, 2])
    func `STARTSTOPSTATE-2: the app sends start and stop commands to other peers`(hosts: Int)
      async throws
    {
      let title = "Sending start/stop commands to other peers"
      try await Conformance.play("STARTSTOPSTATE-2", title, hosts: hosts) { c in
        let linkhut = try c.openLinkHut()
        try await linkhut.ask("enable on")
        try await linkhut.ask("sync on")
        // LinkHut's audio thread passes its start to its network thread, which wakes late on a busy machine.
        // If the app joined before that, it would see the start as a new one. So wait until another peer has
        // seen the start; that peer then leaves.
        let witness = try LabPeer(.reference, in: c.stage)
        try await witness.ask("enable on")
        try await witness.ask("sync on")
        try await witness.wait("peers", "1")
        try await linkhut.ask("play")
        try await witness.wait("playing", "true")
        try await witness.ask("enable off")
        try await linkhut.wait("peers", "0")
        c.record.step("Open LinkHut, set Link and Start Stop Sync to Enabled, press Play")
        let app = try await c.openApp("--startstop")
        try await app.says("1 Link")
        let ears = try await c.listen()
        try await ears.joinSession()
        var heard = try await ears.receive(seconds: 4)
        c.record.step(
          "Open App, set Link and Start Stop Sync to Enabled: App is not playing while LinkHut plays on",
          "in 4 s \(heard.ours.count) clicks of ours, \(heard.theirs.count) of LinkHut's",
          holds: heard.ours.isEmpty && heard.theirs.count >= 5)
        heard = try await receiveStart(ears) {
          app.touch("start")
        } backForAnotherTry: {
          // Stop only the app and let LinkHut continue: at this step, the plan does not stop both.
          app.touch("startstop F")
          app.touch("stop")
          app.touch("rewind")
          try await c.pause(1)
          app.touch("startstop T")
          try await c.pause(1)
        }
        expectStart(
          of: heard, c, "Start playback in App: it joins according to its quantization")
        var stopped = 0.0
        heard = try await ears.receive(seconds: 4) {
          app.touch("stop")
          try await linkhut.wait("playing", "false")
          stopped = Double(try await linkhut.ask("clock")["time"]?.number ?? 0)
        }
        expectStop(of: heard.ours, at: stopped, tempo: 120, c, "Stop playback in App: App stops")
        expectStop(of: heard.theirs, at: stopped, tempo: 120, c, "... and LinkHut stops")
        // A song that was stopped within a bar continues within the bar. After a rewind, it begins on a bar.
        app.touch("rewind")
        try await c.pause(0.5)
        heard = try await receiveStart(ears) {
          app.touch("start")
          try await linkhut.wait("playing", "true")
        } backForAnotherTry: {
          app.touch("stop")
          try await linkhut.wait("playing", "false")
          app.touch("rewind")
          try await c.pause(0.5)
        }
        expectStart(
          of: heard, c,
          "Start playback in App, from its first bar: App starts according to its quantization")
        c.record.step(
          "... and LinkHut starts according to its own",
          "\(heard.theirs.count) clicks; the first \(late(heard.theirs).map { $0.rounded(places: 4) } ?? "never") beats from a "
            + "multiple of 4", holds: heard.theirs.count >= 3)
      }
    }
  }
}
