// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import ControlSurface
import HostSync
import Testing

@testable import tactus

@Suite("What the surface asks of JACK's transport")
struct TransportOrderTests {
  @Test(
    "A place behind JACK's last frame is refused, never bent to it",
    arguments: [
      (.beat(0), 0), (.bar(44_740), 4_294_944_000), (.bar(44_741), nil), (.bar(1_000_000), nil),
      (.beat(178_956), 4_294_944_000), (.beat(200_000), nil), (.seconds(86_400), 4_147_200_000),
      (.beat(178_956.97), 4_294_967_280), (.beat(178_956.971), nil),
    ] as [(Place, UInt32?)])
  func lastFrame(place: Place, frame: UInt32?) {
    let state = SurfaceState()
    #expect(state.frame(of: place, sampleRate: 48_000) == frame)
    #expect((state.command(toGoTo: place, Report(), sampleRate: 48_000) == nil) == (frame == nil))
  }

  @Test("No drift is 0, not -0")
  func noDrift() {
    var state = SurfaceState()
    var report = Report()
    report.driftPPM = -0.3
    state.show(report, HostView())
    #expect(state.driftPartsPerMillion.sign == .plus)
  }

  @Test("At 192 kHz a day is too long")
  func fastCard() {
    #expect(SurfaceState().frame(of: .seconds(86_400), sampleRate: 192_000) == nil)
  }
}
