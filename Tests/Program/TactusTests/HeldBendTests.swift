// SPDX-License-Identifier: GPL-2.0-or-later
import Link
import LinkBeatMath
import TactusChoices
import TactusJACK
import TactusSurface
import Testing

@testable import TactusApp

/// Tests that tactus knows the tempo from before a tempo bend (a tempo change while a button is held), which
/// is the tempo to return to.
struct HeldBendTests {
  @Test func `the tempo before a tempo bend is known at each tempo of the bend`() {
    let bend = HeldBend()
    bend.ordered(Tempo(132), below: Tempo(121))
    bend.ordered(Tempo(133), below: Tempo(121))
    for tempo in [120, 132, 133, 132, 133] as [Double] {
      #expect(bend.below(Tempo(tempo)) == (tempo == 120 ? nil : Tempo(121)), "\(tempo)")
    }
  }

  @Test func `a bent tempo is recognised after a peer rounds it to microseconds`() {
    let bend = HeldBend()
    let bent = Tempo(133.1)
    bend.ordered(bent, below: Tempo(121))
    let passedOn = Tempo(microsPerBeat: bent.microsPerBeat)
    #expect(passedOn != bent && bend.below(passedOn) == Tempo(121))
    let link = Link(tempo: passedOn.beatsPerMinute)
    _ = bend.release(in: link, at: Link.clock())
    #expect(link.captureAppState().timeline.tempo == Tempo(121))
  }

  @Test func `a different tempo from a peer ends a tempo bend`() {
    let bend = HeldBend()
    bend.ordered(Tempo(133), below: Tempo(121))
    #expect(bend.below(Tempo(133)) == Tempo(121))
    #expect(bend.below(Tempo(99)) == nil)
    #expect(bend.below(Tempo(133)) == nil)
  }

  @Test func `the last 64 tempos of a tempo bend are recognised`() {
    let bend = HeldBend()
    for step in 0...64 { bend.ordered(Tempo(130 + Double(step) / 8), below: Tempo(121)) }
    #expect(bend.below(Tempo(130)) == nil)
    for step in 1...64 { #expect(bend.below(Tempo(130 + Double(step) / 8)) == Tempo(121), "\(step)") }
  }

  @Test func `a command that sets a tempo without a bend ends the tempo bend`() {
    let bend = HeldBend()
    bend.ordered(Tempo(133), below: Tempo(121))
    bend.ordered(Tempo(133), below: nil)
    #expect(bend.below(Tempo(133)) == nil)
  }

  @Test func `during a tempo bend, tactus remembers the tempo from before it`() {
    let link = Link(tempo: 121)
    let state = link.captureAppState()
    let exchange = AudioExchange(session: state, settings: Settings())
    let desk = CommandHandler(
      link: link, exchange: exchange, door: SessionActions(exchange: exchange, state: state),
      state: SurfaceState(timeline: state.timeline), wake: {})
    for tempo in [132, 133] as [Double] { _ = desk.setTempo(Tempo(tempo), bentFrom: Tempo(121), at: .zero) }
    var snapshot = link.snapshot
    for tempo in [132, 133] as [Double] {
      snapshot.state.setTempo(tempo, at: .zero)
      desk.publish(snapshot)
      #expect(desk.lasting.chosenTempo == Tempo(121), "\(tempo)")
    }
    // A drummer's tap changes the tempo to return to, and with it the bent tempo.
    _ = desk.setTempo(Tempo(134), bentFrom: Tempo(122), at: .zero)
    snapshot.state.setTempo(134, at: .zero)
    desk.publish(snapshot)
    #expect(desk.lasting.chosenTempo == Tempo(122))
  }

  @Test func `a tempo bend can end before the session shows its latest tempo`() {
    let link = Link(tempo: 121)
    let bend = HeldBend()
    link.updateAppState { $0.setTempo(132, at: .zero) }
    bend.ordered(Tempo(132), below: Tempo(121))
    bend.ordered(Tempo(133), below: Tempo(121))
    _ = bend.release(in: link, at: Link.clock())
    #expect(link.captureAppState().timeline.tempo == Tempo(121))
  }
}
