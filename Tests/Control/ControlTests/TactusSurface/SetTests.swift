// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import LinkBeatMath
import Testing

@testable import TactusSurface

@Suite("A tablet plays a set", .serialized)
struct SetTests {
  /// The messages are exactly those of TouchOSC: floats only, 0.0 at every release. They are sent from
  /// another port than the one at which TouchOSC listens.
  @Test
  func `TouchOSC taps a tempo, starts, nudges, moves a fader and stops`() throws {
    let studio = try Studio()
    defer { studio.close() }
    let tablet = try OtherController(.pythonosc, for: studio.port)
    func press(_ address: String) {
      tablet.send("\(address) f:1.0")
      tablet.send("\(address) f:0.0")
    }
    tablet.send("/tactus/subscribe f:\(tablet.port).0 s:state,beat,phase")
    #expect(try tablet.receive("/tactus/tempo/str") == "/tactus/tempo/str s:120.00")
    #expect(try tablet.receive("/tactus/stop") == "/tactus/stop f:1.0")

    press("/tactus/link/toggle")
    #expect(try tablet.receive("/tactus/link/str") == "/tactus/link/str s:Enabled")

    // TouchOSC sends these taps without timetags, so they are only as exact as this machine.
    for _ in 1...5 {
      press("/tactus/tempo/tap")
      usleep(400_000)
    }
    #expect(studio.wait { studio.commands.contains { if case .tempo = $0 { true } else { false } } })
    let tapped = studio.state.tempo.beatsPerMinute
    #expect(tapped > 100 && tapped < 155, "tapped \(tapped)")

    tablet.send("/tactus/start f:1.0 s:bar")
    tablet.send("/tactus/start f:0.0 s:bar")
    #expect(studio.wait { studio.commands.contains(.start(.bar)) })
    #expect(try tablet.receive("/tactus/start") == "/tactus/start f:1.0")
    #expect(studio.wait { studio.state.isRolling })
    #expect(try tablet.receive("/tactus/jack/rolling") == "/tactus/jack/rolling f:1.0")
    #expect(try tablet.receive("/tactus/downbeat") != nil)

    let before = studio.state.tempo.beatsPerMinute
    tablet.send("/tactus/tempo/nudge f:1.5")
    #expect(studio.wait { abs(studio.state.tempo.beatsPerMinute - before - 1.5) < 0.001 })

    for step in 0...50 { tablet.send("/tactus/click/volume f:\(Double(step) / 50)") }
    #expect(studio.wait { studio.commands.last == .set("click/gain", .number(2)) })
    press("/tactus/click/toggle")
    #expect(try tablet.receive("/tactus/click") == "/tactus/click f:1.0")

    press("/tactus/stop")
    #expect(studio.wait { studio.state.transport == .stopped(at: .zero) })
    #expect(try tablet.receive("/tactus/stop") == "/tactus/stop f:1.0")
    #expect(!studio.commands.contains(.toggle))
    #expect(studio.surface.counters.refused == 0)
    studio.close()
    #expect(try tablet.receive("/tactus/bye") == "/tactus/bye")
  }
}
