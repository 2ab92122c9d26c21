// SPDX-License-Identifier: GPL-2.0-or-later
import Link
import LinkBeatMath
import TactusChoices
import TactusJACK
import TactusSurface
import Testing

@testable import TactusApp

/// Tests the tempo from before a bend, which is the tempo that lasts.
struct HeldBendTests {
  @Test func `the tempo before a bend is known for each tempo of the bend`() {
    let bend = HeldBend()
    bend.ordered(Tempo(132), below: Tempo(121))
    bend.ordered(Tempo(133), below: Tempo(121))
    for tempo in [120, 132, 133, 132, 133] as [Double] {
      #expect(bend.below(Tempo(tempo)) == (tempo == 120 ? nil : Tempo(121)), "\(tempo)")
    }
  }

  @Test func `a bend that a peer rounds to whole microseconds is still the bend`() {
    let bend = HeldBend()
    let bent = Tempo(133.1)
    bend.ordered(bent, below: Tempo(121))
    let passedOn = Tempo(microsPerBeat: bent.microsPerBeat)
    #expect(passedOn != bent && bend.below(passedOn) == Tempo(121))
    let link = Link(tempo: passedOn.beatsPerMinute)
    _ = bend.release(in: link, at: Link.clock())
    #expect(link.captureAppState().timeline.tempo == Tempo(121))
  }

  @Test func `a tempo that a peer sets after the bend ends the bend`() {
    let bend = HeldBend()
    bend.ordered(Tempo(133), below: Tempo(121))
    #expect(bend.below(Tempo(133)) == Tempo(121))
    #expect(bend.below(Tempo(99)) == nil)
    #expect(bend.below(Tempo(133)) == nil)
  }

  @Test func `the last 64 tempos of a bend are recognised`() {
    let bend = HeldBend()
    for step in 0...64 { bend.ordered(Tempo(130 + Double(step) / 8), below: Tempo(121)) }
    #expect(bend.below(Tempo(130)) == nil)
    for step in 1...64 { #expect(bend.below(Tempo(130 + Double(step) / 8)) == Tempo(121), "\(step)") }
  }

  @Test func `a command without a bend ends the bend`() {
    let bend = HeldBend()
    bend.ordered(Tempo(133), below: Tempo(121))
    bend.ordered(Tempo(133), below: nil)
    #expect(bend.below(Tempo(133)) == nil)
  }

  @Test func `tactus remembers the tempo before a bend at each tempo of the bend`() {
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

  @Test func `a bend is released before the session shows its latest tempo`() {
    let link = Link(tempo: 121)
    let bend = HeldBend()
    link.updateAppState { $0.setTempo(132, at: .zero) }
    bend.ordered(Tempo(132), below: Tempo(121))
    bend.ordered(Tempo(133), below: Tempo(121))
    _ = bend.release(in: link, at: Link.clock())
    #expect(link.captureAppState().timeline.tempo == Tempo(121))
  }
}
