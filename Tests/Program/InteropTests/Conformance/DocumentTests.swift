// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

extension Conformance {
  @Suite struct DocumentTests {
    /// A document of our program is a configuration. A document of a DAW is its song, which JACK's clients
    /// see as a timebase master with a tempo; this test uses the simplest such master.
    @Test(arguments: [1, 2])
    func `TEMPO-3: loading a document while connected keeps the tempo`(
      hosts: Int
    )
      async throws
    {
      let title = "When connected, loading a new document does not change the Link session tempo"
      try await Conformance.play("TEMPO-3", title, hosts: hosts) { c in
        let linkhut = try c.openLinkHut()
        try await linkhut.ask("play")
        try await linkhut.ask("enable on")
        try await linkhut.ask("tempo 130")
        c.record.step("Open LinkHut, press Play, set Link to Enabled, set its tempo to 130 BPM")
        try await c.pause(0.7)
        var app = try await c.openApp()
        try await app.says("1 Link")
        try await c.pause(1)
        try await c.expectTempo(
          130, at: linkhut, "Open App with Link Enabled: LinkHut's tempo does not change")
        try await app.play()
        let ears = try await c.listen()
        try await ears.joinSession()
        let daw = try await Ear(
          on: c.stage, host: 1, ["--no-link", "--name", "daw", "--timebase", "90"], [])
        try await c.pause(2)
        try await c.expectTempo(
          130, at: linkhut, "Load a DAW's song of 90 BPM, which makes it JACK's timebase master")
        try await c.expectInSync(ears, tempo: 130, "... App and LinkHut are both at 130 BPM")
        daw.tell("end")
        let home = try ScratchFolder()
        let configuration = try home.write(
          "{ tempo: 90, click: true, \"click-when\": \"rolling\" }", to: "config.json5")
        #expect(await app.terminate() == 0)
        app = try await App(on: c.stage, ["--config=\(configuration)"], home: home)
        // The peers of the app are LinkHut and each `Ear`.
        let others = hosts == 1 ? "2 Links" : "3 Links"
        try await app.says(others)
        try await c.pause(1)
        try await c.expectTempo(130, at: linkhut, "Load a configuration of 90 BPM")
        try await app.play()
        try await c.expectInSync(ears, tempo: 130, "... App and LinkHut are both at 130 BPM")
        #expect(await app.terminate() == 0)
        let session = home.path + "/session"
        try home.write(
          "{ tempo: 75, click: true, \"click-when\": \"rolling\", \"click-sound\": \"tick\" }",
          to: "session/config.json5")
        app = try await App(on: c.stage, [], home: home, session: session)
        try await app.says(others)
        try await c.pause(1)
        try await c.expectTempo(130, at: linkhut, "Load an NSM session of 75 BPM")
        try await app.play()
        let earsOfSession = try await c.listen(
          to: [App.nameInSession + ":click_1"], options: ["--no-link", "--name", "again"])
        try await earsOfSession.joinSession()
        try await c.expectInSync(earsOfSession, tempo: 130, "... App and LinkHut are both at 130 BPM")
      }
    }
  }
}
