// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

extension Conformance {
  @Suite struct TempoTests {
    @Test(arguments: [1, 2])
    func `TEMPO-1: tempo changes are transmitted between connected apps`(hosts: Int) async throws {
      try await Conformance.play(
        "TEMPO-1", "Tempo changes are transmitted between connected apps", hosts: hosts
      ) { c in
        let linkhut = try c.openLinkHut()
        try await linkhut.ask("play")
        try await linkhut.ask("enable on")
        c.record.step("Open LinkHut, press Play, set Link to Enabled")
        let app = try await c.openApp()
        try await app.says("1 Link")
        c.record.step("Open App, Link is Enabled")
        let ears = try await c.listen()
        try await app.setTempo(133)
        try await linkhut.wait("tempo", "133")
        var heard = try await ears.receive(seconds: 5)
        func isRight() -> Bool { abs(Heard.tempo(of: heard.theirs) - 133) < 1.4 && heard.ours.isEmpty }
        for _ in 0..<4 where !heard.isWhole && !isRight() { heard = try await ears.receive(seconds: 5) }
        let what = "Without starting to play, change tempo in App: LinkHut's clicks change their speed"
        let tempo = Heard.tempo(of: heard.theirs).rounded(places: 2)
        let said =
          "133 BPM set; LinkHut's clicks are at \(tempo) BPM, ours: \(heard.ours.count) clicks"
        // Lost cycles make no clicks of ours.
        if !heard.isWhole, !isRight(), heard.ours.isEmpty {
          c.record.undecided(what, "cycles were lost; " + said)
        } else {
          c.record.step(what, said, holds: isRight())
        }
        try await app.play()
        try await ears.joinSession()
        try await c.expectInSync(ears, tempo: 133, "Start playing in App: App and LinkHut are in sync")
        try await app.setTempo(97)
        try await linkhut.wait("tempo", "97")
        try await c.expectInSync(ears, tempo: 97, "Change tempo in App: they remain in sync")
        try await linkhut.ask("tempo 141")
        try await c.expectInSync(ears, tempo: 141, "Change tempo in LinkHut: they remain in sync")
      }
    }

    @Test(arguments: [1, 2])
    func `TEMPO-2: opening an app with Link on keeps an existing session's tempo`(
      hosts: Int
    )
      async throws
    {
      let title = "Opening an app with Link enabled does not change the tempo of an existing Link session"
      try await Conformance.play("TEMPO-2", title, hosts: hosts) { c in
        let home = try ScratchFolder()
        let first = try await App(on: c.stage, [], home: home)
        try await first.setTempo(100)
        // The app writes its remembered state before it ends.
        let status = await first.terminate()
        c.record.step(
          "Open App with Link Enabled, set its tempo to 100 BPM, terminate App", "status \(status)",
          holds: status == 0)
        let linkhut = try c.openLinkHut()
        try await linkhut.ask("play")
        try await linkhut.ask("enable on")
        try await linkhut.ask("tempo 130")
        c.record.step("Open LinkHut, press Play, set Link to Enabled, set its tempo to 130 BPM")
        try await c.pause(0.7)
        let app = try await App(on: c.stage, [], home: home)
        let line = try await app.says("1 Link")
        c.record.step("Open App: Link is connected", "App says \"\(line)\"", holds: true)
        try await c.expectPeers(1, at: linkhut, "... and LinkHut agrees")
        try await c.expectTempo(130, at: linkhut, "The session's tempo is still 130 BPM")
        try await app.play()
        let ears = try await c.listen()
        try await ears.joinSession()
        try await c.expectInSync(ears, tempo: 130, "App's tempo is 130 BPM, heard")
      }
    }

    @Test(arguments: [1, 2])
    func `TEMPO-4: App and LinkHut stay in sync at 20 and at 999 BPM`(hosts: Int) async throws {
      try await Conformance.play("TEMPO-4", "Tempo range handling", hosts: hosts) { c in
        let linkhut = try c.openLinkHut()
        try await linkhut.ask("play")
        try await linkhut.ask("enable on")
        c.record.step("Open LinkHut, press Play, set Link to Enabled")
        let app = try await c.openApp()
        try await app.says("1 Link")
        try await app.play()
        let ears = try await c.listen()
        try await ears.joinSession()
        c.record.step("Open App, start audio, Link is Enabled")
        // Each key press changes the tempo by one BPM: press all keys, then check.
        try await linkhut.ask("key " + String(repeating: "w", count: 100))
        try await linkhut.ask("tempo 20")
        try await c.expectInSync(ears, tempo: 20, "Change tempo in LinkHut to 20 BPM: they stay in sync")
        for _ in 0..<9 {
          try await linkhut.ask("key " + String(repeating: "e", count: 108))
          try await c.pause(0.1)
        }
        try await linkhut.ask("tempo 999", within: .seconds(60))
        // A click of LinkHut lasts 100 ms, but a beat at 999 BPM lasts only 60 ms. So LinkHut's sound never
        // pauses, and only its status line shows its tempo.
        try await c.expectOnReferenceBeat(
          ears, tempo: 999, "Change tempo in LinkHut to 999 BPM: App stays in sync (LinkHut's clicks merge)")
        try await c.expectTempo(999, at: linkhut, "... and LinkHut is at 999 BPM")
      }
    }

    @Test(arguments: [1, 2])
    func `TEMPO-5: enabling Link without a session keeps the app's tempo`(hosts: Int)
      async throws
    {
      let title = "Enabling Link does not change the app's tempo if there is no Link session to join"
      try await Conformance.play("TEMPO-5", title, hosts: hosts) { c in
        let app = try await c.openApp("--no-link")
        try await app.play()
        let ears = try await c.listen(linkHut: false)
        c.record.step("Open App, start playing")
        try await app.setTempo(125)
        try await c.pause(0.5)
        c.record.step("Change App's tempo to 125 BPM")
        try await c.expectContinuous(ears, tempo: 125, "Set Link to Enabled: App's tempo does not change") {
          app.touch("link i:1")
          try await app.hears("link", "f:1.0")
        } backForAnotherTry: {
          app.touch("link i:0")
        }
        try await app.setTempo(96)
        try await c.pause(0.5)
        c.record.step("Change App's tempo to 96 BPM")
        try await c.expectContinuous(ears, tempo: 96, "Set Link to Disabled: App's tempo does not change") {
          app.touch("link i:0")
          try await app.hears("link", "f:0.0")
        } backForAnotherTry: {
          app.touch("link i:1")
        }
      }
    }
  }
}
