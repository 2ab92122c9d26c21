// SPDX-License-Identifier: GPL-2.0-or-later
import Link
import LinkBeatMath
import TactusChoices
import TactusJACK
import TactusSurface
import Testing

@testable import TactusApp

/// Tests changes and starts that wait for their beat.
struct QueuedChangeTests {
  @Test
  func `the audio thread keeps a queued change until the change is withdrawn`() {
    let link = Link(tempo: 120)
    let state = link.captureAppState()
    let exchange = AudioExchange(session: state, settings: Settings())
    let desk = CommandHandler(
      link: link, exchange: exchange, door: SessionActions(exchange: exchange, state: state),
      state: SurfaceState(timeline: state.timeline), wake: {})
    let change = QueuedChange(at: Beats(8), tempo: Tempo(150), meter: Meter(beatsPerBar: 7, beatType: 8))
    desk.expect(change)
    #expect(desk.settings.queued == change && desk.takeLasting() == nil)
    // The new meter takes effect as a setting first; only later the queued change is withdrawn. Between the
    // two, the audio thread has both.
    _ = desk.obey(.start(.beat), at: .zero)
    desk.choose(true) { $0.choices.meter = change.meter ?? Meter() }
    #expect(desk.settings.queued == change && desk.settings.meter == change.meter)
    #expect(desk.takeLasting()?.choices.queued == nil)
    desk.expect(nil)
    #expect(desk.settings.queued == nil && desk.settings.meter == change.meter)
  }

  @Test(arguments: [(nil, 4), (.bar, 4), (.beat, 1), (.now, 0)] as [(LaunchMoment?, Double)])
  func `without JACK, peers still start on the chosen bar or beat`(launch: LaunchMoment?, grid: Double) {
    let link = Link(tempo: 120)
    let state = link.captureAppState()
    var shown = SurfaceState(timeline: state.timeline)
    shown.choices.syncsStartStop = true
    let exchange = AudioExchange(session: state, settings: Settings())
    let desk = CommandHandler(
      link: link, exchange: exchange, door: SessionActions(exchange: exchange, state: state), state: shown,
      wake: {})
    // This time is one and a quarter beats after beat 0 at 120 BPM.
    let time = state.timeline.timeOrigin + Micros(625_000)
    _ = desk.obey(.start(launch), at: time)
    let start = link.captureAppState()
    #expect(start.isPlaying)
    let beat = start.beat(at: start.startStop.time, quantum: 4)
    #expect(abs(beat - (grid == 0 ? 1.25 : grid == 1 ? 2 : 4)) < 1e-4, "\(beat)")
  }
}
