// SPDX-License-Identifier: GPL-2.0-or-later
import Link
import TestSupport
import Testing

/// The verbs of LinkKit before 2.0.
struct EarlyVerbsTests {
  @Test(
    arguments: [(-101_000, false), (-99_000, true), (0, true), (1_990_000, true), (2_100_000, false)]
      as [(Int64, Bool)])
  func aTempoIsProposedForAboutNow(distance: Int64, isTaken: Bool) {
    let now = Link.clock()
    var state = Link(tempo: 100).captureAppState()
    #expect(state.proposeTempo(120, at: now + Micros(distance), now: now) == isTaken)
    #expect(state.tempo == (isTaken ? 120 : 100))
  }

  @Test func aProposalIsAdoptedHereAndBeatsFollowItAtOnce() {
    let link = Link(tempo: 100)
    let audio = link.audio
    let time = Link.clock() + Micros(5_000)
    let beat = audio.beatTime(at: time)
    #expect(audio.proposeTempo(150, at: time))
    #expect(abs(audio.beatTime(at: time) - beat) < 0.000_002)
    #expect(abs(audio.beatTime(at: time + Micros(400_000)) - beat - 1) < 0.000_002)
    #expect(link.captureAppState().tempo == 150)
    #expect(!link.proposeTempo(60, at: time + Micros(10_000_000)))
    #expect(link.proposeTempo(60, at: Link.clock()))
    #expect(link.captureAppState().tempo == 60)
  }

  @Test func aloneAResetGivesTheVeryBeatThatWasWished() {
    let link = Link(tempo: 120)
    defer { withExtendedLifetime(link) {} }
    let audio = link.audio
    let time = Link.clock()
    #expect(audio.resetBeatTime(7.25, at: time) == 7.25)
    #expect(audio.beatTime(at: time) == 7.25)
    #expect(audio.hostTime(atBeat: 8.25) == time + Micros(500_000))
  }

  @Test func aNewQuantumMovesNothingUntilTheNextReset() {
    let link = Link(tempo: 120)
    defer { withExtendedLifetime(link) {} }
    let audio = link.audio
    let time = Link.clock()
    #expect(audio.resetBeatTime(3, at: time) == 3)
    #expect(audio.quantum == 4)
    audio.quantum = 3
    #expect(audio.beatTime(at: time) == 3)
    #expect(audio.quantum == 3)
    _ = audio.resetBeatTime(1, at: time)
    #expect(audio.beatTime(at: time) == 1)
  }

  @Test func thePhaseOfABeatIsOnTheSharedGridForAnyQuantum() {
    let link = Link(tempo: 120)
    defer { withExtendedLifetime(link) {} }
    let audio = link.audio
    let beat = audio.beatTime(at: Link.clock())
    // Nobody has moved the grid yet: beats are what they were when the session began.
    for quantum in [1.0, 2, 3, 4, 8] {
      let phase = audio.phase(ofBeat: beat, quantum: quantum)
      #expect(abs(phase - beat.truncatingRemainder(dividingBy: quantum)) < 0.000_002)
    }
    let before = audio.phase(ofBeat: -0.5, quantum: 4)
    #expect(abs(before - 3.5) < 0.000_002)
  }

  @Test(.enabled(if: Lab.isHere, "needs tools/lab --no-server"))
  func withPeersAResetWaitsForThePhase() throws {
    let network = try PrivateNetwork()
    let link = try network.link(tempo: 120)
    let other = try network.link(tempo: 120)
    #expect(connected(link, other))
    let audio = link.audio
    #expect(eventually { audio.captureAudioState().isConnected })
    let time = Link.clock()
    let phase = audio.captureAudioState().phase(at: time, quantum: 4)
    let real = audio.resetBeatTime(8, at: time)
    #expect(real <= 8 && real > 4)
    #expect(real == audio.beatTime(at: time))
    // The others' grid has not moved: the wished beat comes where the bar begins.
    #expect(abs(audio.captureAudioState().phase(at: time, quantum: 4) - phase) < 0.000_003)
  }

  @Test func aSpanOfSamplesHasATempo() {
    let tempo = AudioLink.beatsPerMinute(from: 4, to: 5, frames: 24_000, sampleRate: 48_000)
    #expect(tempo == 120)
    #expect(AudioLink.beatsPerMinute(from: 4, to: 5, frames: 0, sampleRate: 48_000) == 0)
  }
}
