// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import ControlSurface
import JACKHost
import Link
import TactusChoices
import Testing

@testable import TactusApp

/// Tests a change that waits for its beat on its way to the audio thread.
struct QueuedChangeTests {
  @Test
  func `the audio thread has a queued change until the change is withdrawn`() {
    let link = Link(tempo: 120)
    let state = link.captureAppState()
    let exchange = AudioExchange(session: state, settings: Settings())
    let desk = CommandHandler(
      link: link, exchange: exchange, door: SessionActions(exchange: exchange, state: state),
      state: SurfaceState(timeline: state.timeline), wake: {})
    let change = QueuedChange(at: Beats(8), tempo: Tempo(150), meter: Meter(beatsPerBar: 7, beatType: 8))
    desk.expect(change)
    #expect(desk.settings.queued == change && desk.takeLasting() == nil)
    // The choice takes effect first, and the queued change is withdrawn after it.
    _ = desk.obey(.start(.beat), at: .zero)
    desk.choose(true) { $0.choices.meter = change.meter ?? Meter() }
    #expect(desk.settings.queued == change && desk.settings.meter == change.meter)
    #expect(desk.takeLasting()?.choices.queued == nil)
    desk.expect(nil)
    #expect(desk.settings.queued == nil && desk.settings.meter == change.meter)
  }
}
