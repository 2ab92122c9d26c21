// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

/// The test plan in JACK's terms. The app is in the foreground while a tablet subscribes to it. A connected
/// port stands for an Audiobus or IAA session on iOS.
extension Conformance {
  @Suite struct BackgroundTests {
    /// A time in seconds, longer than any delay after which the app switches Link off.
    private let aWhile = 3.0

    private func openBoth(_ c: Conformance, _ options: String...) async throws -> (LabPeer, App) {
      let linkhut = try c.openLinkHut()
      try await linkhut.ask("play")
      try await linkhut.ask("enable on")
      let app = try await App(on: c.stage, ["--life=auto"] + options)
      app.bringToForeground()
      try await app.says("1 Link")
      try await linkhut.wait("peers", "1")
      c.record.step("Open LinkHut, press Play, set Link to Enabled; open App, Link is Enabled")
      return (linkhut, app)
    }

    private func expectStillThere(_ linkhut: LabPeer, _ c: Conformance, _ what: String) async throws {
      try await c.pause(aWhile)
      let seen = try await linkhut.status().peers
      c.record.step(what, "after \(aWhile) s LinkHut shows \(seen)", holds: seen == 1)
    }

    @Test(arguments: [1, 2])
    func `BACKGROUND-1: Link remains active in the background while playing`(hosts: Int) async throws {
      let title = "Link remains active when going to the background while playing audio"
      try await Conformance.play("BACKGROUND-1", title, hosts: hosts) { c in
        let (linkhut, app) = try await openBoth(c)
        try await app.play()
        c.record.step("Start playing audio")
        app.putInBackground()
        try await expectStillThere(linkhut, c, "App in the background: LinkHut shows 1 connected app")
        let ears = try await c.listen()
        try await ears.joinSession()
        try await c.expectInSync(ears, tempo: 120, "... and App plays on, in sync")
      }
    }

    @Test(arguments: [1, 2])
    func `BACKGROUND-2: Link is off in the background if nothing plays there`(hosts: Int)
      async throws
    {
      let title =
        "Link is deactivated when going to the background and audio will not be played while in background"
      try await Conformance.play("BACKGROUND-2", title, hosts: hosts) { c in
        let (linkhut, app) = try await openBoth(c)
        try await app.play()
        app.touch("stop")
        app.putInBackground()
        try await c.expectPeers(
          0, at: linkhut, "Stop App from playing and put it in the background: 0 connected apps")
        app.bringToForeground()
        let line = try await app.says("1 Link")
        c.record.step(
          "Bring App to the foreground: there is a notification", "App says \"\(line)\"", holds: true)
        try await c.expectPeers(1, at: linkhut, "... and LinkHut reflects this")
        app.touch("link i:0")
        try await c.expectPeers(0, at: linkhut, "Disable Link in App")
        app.touch("link i:1")
        let again = try await app.says("1 Link")
        c.record.step("Enable Link in App: there is a notification", "App says \"\(again)\"", holds: true)
        try await c.expectPeers(1, at: linkhut, "... and LinkHut reflects this")
        try await app.play()
        let ears = try await c.listen()
        try await ears.joinSession()
        try await c.expectInSync(ears, tempo: 120, "Play: App is in sync again")
      }
    }

    @Test(arguments: [1, 2])
    func `BACKGROUND-3: Start Stop Sync keeps Link active in the background`(hosts: Int)
      async throws
    {
      let title = "Link remains active when going to background while Start Stop Sync is enabled"
      try await Conformance.play("BACKGROUND-3", title, hosts: hosts) { c in
        let linkhut = try c.openLinkHut()
        try await linkhut.ask("enable on")
        try await linkhut.ask("sync on")
        c.record.step("Open LinkHut, set Link and Start Stop Sync to Enabled")
        let app = try await c.openApp("--life=auto", "--startstop")
        app.bringToForeground()
        let line = try await app.says("1 Link")
        c.record.step(
          "Switch to App with both Enabled: there is a notification", "App says \"\(line)\"", holds: true)
        app.putInBackground()
        try await expectStillThere(linkhut, c, "App, not playing, in the background: still 1 connected app")
        let ears = try await c.listen()
        try await ears.joinSession()
        var heard = try await ears.receive(seconds: 6) { try await linkhut.ask("play") }
        c.record.step(
          "Start playback in LinkHut: App starts", "\(heard.ours.count) clicks", holds: heard.ours.count >= 3)
        try await linkhut.ask("stop")
        try await c.pause(1)
        heard = try await ears.receive(seconds: 3)
        c.record.step(
          "Stop playback in LinkHut: App stops", "\(heard.ours.count) clicks", holds: heard.ours.isEmpty)
      }
    }

    @Test(arguments: [1, 2])
    func `BACKGROUND-4: a connected port keeps Link active in the background`(hosts: Int)
      async throws
    {
      let title = "Link remains active when going to background while part of an IAA or Audiobus session"
      try await Conformance.play("BACKGROUND-4", title, hosts: hosts) { c in
        let (linkhut, app) = try await openBoth(c)
        let ears = try await c.listen()
        c.record.step("Connect App's click to another program (Audiobus: add it as Input)")
        app.putInBackground()
        try await expectStillThere(linkhut, c, "App, not playing, in the background: still 1 connected app")
        try await c.expectSilence(ears, seconds: 2, "... and it is silent")
        try await app.play()
        try await ears.joinSession()
        try await c.expectInSync(ears, tempo: 120, "Started at any time, App is in sync")
      }
    }

    @Test(arguments: [1, 2])
    func `BACKGROUND-5: connecting a port in the background activates Link`(
      hosts: Int
    )
      async throws
    {
      let title =
        "Link is activated when App added to an Audiobus or IAA session while not playing in the background"
      try await Conformance.play("BACKGROUND-5", title, hosts: hosts) { c in
        let (linkhut, app) = try await openBoth(c)
        app.putInBackground()
        try await c.expectPeers(
          0, at: linkhut, "App, not playing and connected to nothing, in the background: 0")
        let ears = try await c.listen()
        try await c.expectPeers(1, at: linkhut, "Connect its click without waking it: LinkHut shows 1")
        try await app.play()
        try await c.pause(3)
        let heard = try await ears.receive(seconds: 5)
        let differences = heard.differences
        c.record.step(
          "... and what it plays then is heard with LinkHut's", "ours from LinkHut's: \(differences.spread)",
          holds: differences.count >= 3)
        app.touch("stop")
        ears.ours.tell("unplug \(App.click)")
        try await c.expectPeers(0, at: linkhut, "Take the connection away: LinkHut shows 0")
      }
    }
  }
}
