// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import Testing

private let start = Micros(10_000_000)

private func sharedState(tempo: Double, isPlaying: Bool = false, session: UInt64 = 1) -> SessionState {
  SessionState(
    timeline: Timeline(tempo: Tempo(tempo), beatOrigin: .zero, timeOrigin: start),
    startStop: ClientStartStop(isPlaying: isPlaying, time: .zero, timestamp: .zero), isConnected: true,
    session: session)
}

/// An audio thread's session after a commit of 50 BPM and of a start, both at the time `start`.
private func sessionWithOwnChange(isEnabled: Bool = true) -> AudioSession {
  var audio = AudioSession(sharedState(tempo: 120))
  let captured = audio.capture(sharedState(tempo: 120), workedIn: 0, at: start)
  var edited = captured
  edited.setTempo(50, at: start)
  edited.setPlaying(true, at: start)
  _ = audio.commit(edited, at: start, isEnabled: isEnabled)
  return audio
}

@Test func `the audio thread sees a change of its own for at least a second`() {
  var audio = sessionWithOwnChange()
  let others = sharedState(tempo: 70)
  for elapsed: Int64 in [0, 1, 500_000, 1_000_000] {
    let seen = audio.capture(others, workedIn: 1, at: start + Micros(elapsed))
    #expect(seen.tempo == 50)
    #expect(seen.isPlaying)
  }
  let later = audio.capture(others, workedIn: 1, at: start + Micros(1_000_001))
  #expect(later.tempo == 70)
  #expect(!later.isPlaying)
}

@Test func `a tempo change of our own does not hold back a peer's start`() {
  var audio = AudioSession(sharedState(tempo: 120))
  let captured = audio.capture(sharedState(tempo: 120), workedIn: 9, at: start)
  var edited = captured
  edited.setTempo(50, at: start)
  _ = audio.commit(edited, at: start, isEnabled: true)
  let seen = audio.capture(
    sharedState(tempo: 70, isPlaying: true), workedIn: 1, at: start + Micros(10))
  #expect(seen.tempo == 50)
  #expect(seen.isPlaying)
}

@Test func `with Link off, the audio thread's own change shows until it is shared`() {
  var audio = sessionWithOwnChange(isEnabled: false)
  let stale = sharedState(tempo: 120)
  #expect(audio.capture(stale, workedIn: 0, at: start + Micros(10)).tempo == 50)
  #expect(
    audio.capture(sharedState(tempo: 70), workedIn: 1, at: start + Micros(20)).tempo == 70)
}

@Test func `a commit that never gets into the session shows for one second`() {
  var audio = sessionWithOwnChange()
  let shared = sharedState(tempo: 120)
  #expect(audio.capture(shared, workedIn: 0, at: start + Micros(1_000_000)).tempo == 50)
  #expect(audio.capture(shared, workedIn: 0, at: start + Micros(1_000_001)).tempo == 120)
}

@Test func `committing an unchanged state commits nothing`() {
  var audio = AudioSession(sharedState(tempo: 120))
  let captured = audio.capture(sharedState(tempo: 120), workedIn: 9, at: start)
  #expect(audio.commit(captured, at: start, isEnabled: true) == nil)
  #expect(audio.sequence == 0)
}

@Test func `a second start or stop within one microsecond is not committed`() {
  var audio = sessionWithOwnChange()
  let captured = audio.capture(sharedState(tempo: 120), workedIn: 9, at: start)
  var edited = captured
  edited.setPlaying(false, at: start)
  #expect(audio.commit(edited, at: start, isEnabled: true) == nil)
  let change = audio.commit(edited, at: start + Micros(1), isEnabled: true)
  #expect(change?.startStop?.isPlaying == false)
}

@Test func `the tempo of the audio thread stays within the range of Link`() {
  var audio = AudioSession(sharedState(tempo: 120))
  let captured = audio.capture(sharedState(tempo: 120), workedIn: 9, at: start)
  var edited = captured
  edited.timeline.tempo = Tempo(5000)
  let change = audio.commit(edited, at: start, isEnabled: true)
  #expect(change?.timeline?.tempo == Tempo(999))
}

@Test func `a change names the session whose timeline was edited`() {
  var audio = sessionWithOwnChange()
  // Our peer has joined another session within the second: the audio thread's copy still belongs to the old
  // session.
  let kept = audio.capture(sharedState(tempo: 70, session: 2), workedIn: 1, at: start + Micros(500_000))
  var edited = kept
  edited.setTempo(51, at: start + Micros(500_000))
  let early = audio.commit(edited, at: start + Micros(500_000), isEnabled: true)
  #expect(early?.session == 1)
  let fresh = audio.capture(sharedState(tempo: 70, session: 2), workedIn: 2, at: start + Micros(2_000_000))
  edited = fresh
  edited.setTempo(71, at: start + Micros(2_000_000))
  let late = audio.commit(edited, at: start + Micros(2_000_000), isEnabled: true)
  #expect(late?.session == 2)
}

/// The compiler copies values of up to 128 bytes with a few instructions. A larger session state took 20 ns
/// more in each capture.
@Test func `a session state is small enough for a copy without a call to memcpy`() {
  #expect(MemoryLayout<SessionState>.size <= 128)
}
