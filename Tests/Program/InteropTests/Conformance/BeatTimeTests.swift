// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

extension Conformance {
  @Suite struct BeatTimeTests {
    @Test(arguments: [1, 2])
    func `BEATTIME-1: enabling Link without a session keeps the beat time`(
      hosts: Int
    )
      async throws
    {
      let title = "Enabling Link does not change the app's beat time if there is no Link session to join"
      try await Conformance.play("BEATTIME-1", title, hosts: hosts) { c in
        let app = try await c.openApp("--no-link", "--tempo=125")
        try await app.play()
        let ears = try await c.listen(linkHut: false)
        c.record.step("Open App, start playing")
        func set(_ on: Int) async throws {
          app.touch("link i:\(on)")
          try await app.hears("link", "f:\(on).0")
        }
        try await c.expectContinuous(ears, tempo: 125, "Set Link to Enabled: no jump, no discontinuity") {
          try await set(1)
        } backForAnotherTry: {
          try await set(0)
        }
        try await c.expectContinuous(ears, tempo: 125, "Set Link to Disabled: no jump, no discontinuity") {
          try await set(0)
        } backForAnotherTry: {
          try await set(1)
        }
      }
    }

    @Test(arguments: [1, 2])
    func `BEATTIME-2: another participant that joins does not change the beat`(hosts: Int)
      async throws
    {
      let title = "The app's beat time does not change if another participant joins its session"
      try await Conformance.play("BEATTIME-2", title, hosts: hosts) { c in
        let app = try await c.openApp("--tempo=125")
        try await app.play()
        let ears = try await c.listen(linkHut: false)
        c.record.step("Open App with Link Enabled, start playing")
        let linkhut = try c.openLinkHut()
        try await linkhut.ask("play")
        try await c.expectContinuous(ears, tempo: 125, "Open LinkHut and set Link to Enabled: no jump in App")
        {
          try await linkhut.ask("enable on")
          try await linkhut.wait("peers", "1")
        } backForAnotherTry: {
          try await linkhut.ask("enable off")
          try await c.pause(1)
        }
        try await app.says("1 Link")
        try await c.expectTempo(125, at: linkhut, "LinkHut has joined, and adjusted to App")
        let both = try await c.listen()
        try await both.joinSession()
        try await c.expectInSync(both, tempo: 125, "... and both are in sync")
      }
    }
  }
}
