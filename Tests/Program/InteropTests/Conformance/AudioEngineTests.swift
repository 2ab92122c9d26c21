// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

extension Conformance {
  @Suite struct AudioEngineTests {
    @Test(arguments: [1, 2])
    func `AUDIOENGINE-1: the app's audio is aligned with the shared session`(hosts: Int) async throws {
      let title = "Correct alignment of app audio with shared session"
      try await Conformance.play("AUDIOENGINE-1", title, hosts: hosts) { c in
        let linkhut = try c.openLinkHut()
        try await linkhut.ask("play")
        try await linkhut.ask("enable on")
        c.record.step("Open LinkHut, press Play, set Link to Enabled")
        let app = try await c.openApp()
        try await app.says("1 Link")
        try await app.play()
        let ears = try await c.listen()
        try await ears.joinSession()
        c.record.step("Open App, Link is Enabled, start playing clicks on LinkHut's beats, record")
        try await c.expectInSync(ears, tempo: 120, "The onsets align with LinkHut's pulses, within 3 ms")
      }
    }

    @Test(arguments: [1, 2])
    func `AUDIOENGINE-2: latency is updated when the route changes`(hosts: Int) async throws {
      try await Conformance.play("AUDIOENGINE-2", "Latency is updated when the route changes", hosts: hosts) {
        c in
        let linkhut = try c.openLinkHut()
        try await linkhut.ask("play")
        try await linkhut.ask("enable on")
        c.record.step("Open LinkHut, press Play, set Link to Enabled")
        let app = try await c.openApp()
        try await app.says("1 Link")
        try await app.play()
        // `listen` adds a second route that is 100 ms longer, and judges the click at the end of that route.
        let ears = try await c.listen(
          to: [App.click, "through:out"], options: ["--no-link", "--through", "4800"])
        try await ears.joinSession()
        try await c.expectInSync(
          ears, tempo: 120, "Open App, start playing clicks: in sync on the short route")
        for turn in ["", " again"] {
          ears.ours.tell("unplug \(App.click)")
          #expect(try await c.stage.run("jack_connect", App.click, "through:in").status == 0)
          try await c.pause(1)
          try await c.expectInSync(
            ears, tempo: 120,
            "Change to a route that is 100 ms longer while playing\(turn): in sync at its end, within 3 ms")
          #expect(try await c.stage.run("jack_disconnect", App.click, "through:in").status == 0)
          ears.ours.tell("plug \(App.click)")
          try await c.pause(1)
          try await c.expectInSync(ears, tempo: 120, "Change back while playing\(turn): in sync, within 3 ms")
        }
      }
    }
  }
}
