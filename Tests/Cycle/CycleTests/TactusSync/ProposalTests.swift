// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices
import Testing

@testable import TactusSync

/// Proposals of the audio thread reach the network thread, whatever else is proposed in the same cycle, and
/// however late the network thread reads.
struct ProposalTests {
  /// A studio that a sequencer leads; its clock begins at 90 BPM.
  private func led(press: Int?) -> (first: Int?, told: [Proposal]) {
    let studio = Studio(tempo: 120)
    studio.settings.lead = .midi
    studio.settings.syncsStartStop = true
    for cycle in 0..<1_500 {
      let due = (studio.frame + 1_332) / 1_333 * 1_333
      if due < studio.frame + 256 {
        studio.receive(MIDIEvent(frame: UInt32(due - studio.frame), status: MIDI.clock))
      }
      if cycle == press { studio.transport.state = .rolling }
      studio.play(256)
      if !studio.proposals.isEmpty { return (cycle, studio.proposals) }
    }
    return (nil, [])
  }

  @Test func `a start and a sequencer's tempo in one cycle both reach the session`() throws {
    let alone = led(press: nil)
    let cycle = try #require(alone.first)
    let both = led(press: cycle)
    #expect(alone.told.count == 1 && both.told.count == 2)
    #expect(both.told.map(\.change).contains(.playing(true)))
    #expect(both.told.map(\.change).contains(try #require(alone.told.first).change))
  }

  @Test func `a proposal that a full queue refuses is offered again`() throws {
    let studio = Studio(tempo: 120)
    studio.settings.lead = .host
    studio.settings.syncsStartStop = true
    func show(_ tempo: Double) {
      studio.transport.bbt = BBT(
        bar: 1, beat: 1, tick: 0, barStartTick: 0, beatsPerBar: 4, beatType: 4, ticksPerBeat: 1920,
        beatsPerMinute: tempo)
    }
    show(120)
    studio.play(seconds: 1)
    studio.refusesProposals = true
    for tempo in [125, 127, 131] as [Double] {
      show(tempo)
      studio.play(seconds: 0.5)
    }
    studio.transport.state = .rolling
    studio.play(256)
    studio.transport.state = .stopped
    studio.play(seconds: 1)
    studio.refusesProposals = false
    studio.play(256)
    // Only the newest proposal of each kind is left. The session never got the start that was proposed before
    // the stop.
    #expect(studio.proposals.map(\.change) == [.tempo(131), .playing(false)])
    studio.play(256)
    #expect(studio.proposals.isEmpty)
  }

  /// On a busy machine the network thread may take several proposals at once, of which the last restores the
  /// state from before the first.
  @Test func `a start and a stop taken together become two changes of the session`() throws {
    let timeline = Timeline(tempo: Tempo(120), beatOrigin: .zero, timeOrigin: .zero)
    let start = ClientStartStop(isPlaying: true, time: Micros(8), timestamp: .zero)
    var state = SessionState(timeline: timeline, startStop: start, isConnected: true, session: 7)
    let changes: [Proposal.Change] = [
      .playing(false), .playing(true), .tempo(130), .tempo(120), .forceBeat(1, quantum: 4),
      .forceBeat(0, quantum: 4),
    ]
    for (number, change) in changes.enumerated() {
      let proposal = Proposal(change, at: Micros(8))
      let first = state.apply(proposal, at: Micros(Int64(100 + number)))
      let again = state.apply(proposal, at: Micros(200))
      let taken = try #require(first, "\(change)")
      #expect(taken.at == Micros(Int64(100 + number)) && taken.session == 7)
      #expect(again == nil, "twice is once: \(change)")
      if case .playing(let isPlaying) = change {
        #expect(taken.timeline == nil && taken.startStop?.isPlaying == isPlaying)
      } else {
        #expect(taken.timeline == state.timeline && taken.startStop == nil)
      }
    }
    #expect(state.isPlaying && abs(state.tempo - 120) < 0.001)
    // Two changes within one microsecond must have different timestamps, too.
    let stamps = [false, true].map {
      state.apply(Proposal(.playing($0), at: Micros(9)), at: Micros(300))?.startStop?.timestamp
    }
    #expect(stamps == [Micros(300), Micros(301)])
  }

  @Test func `the newest session proposal of each kind is kept, in order`() {
    var proposals = Proposals()
    let moments = (0..<5).map { Micros(Int64($0)) }
    proposals.add(Proposal(.tempo(100), at: moments[0]))
    proposals.add(Proposal(.forceBeat(3, quantum: 4), at: moments[1]))
    proposals.add(nil)
    proposals.add(Proposal(.playing(true), at: moments[2]))
    proposals.add(Proposal(.tempo(110), at: moments[3]))
    proposals.add(Proposal(.playing(false), at: moments[4]))
    var taken: [Proposal.Change] = []
    while let proposal = proposals.first {
      taken.append(proposal.change)
      proposals.removeFirst()
    }
    #expect(taken == [.forceBeat(3, quantum: 4), .tempo(110), .playing(false)])
    proposals.removeFirst()
    #expect(proposals.count == 0)
  }
}
