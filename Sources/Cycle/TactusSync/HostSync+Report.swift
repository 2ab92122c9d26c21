// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

extension HostSync {
  /// Fills this cycle's report.
  mutating func report(
    _ now: borrowing CycleContext, _ cycle: inout Cycle, into outputs: inout Outputs
  ) {
    let beat = now.grid.beat(at: now.heard.start)
    lostMIDI &+= UInt64(outputs.events.dropped)
    outputs.report.sessionBeat = beat
    outputs.report.tempo = now.session.tempo
    outputs.report.bars = bars
    outputs.report.ahead = bend.ahead
    outputs.report.moment = CycleStamp(now)
    outputs.report.song = song.report(at: beat, showsLag: !now.isFreewheeling && !timebase.isForeign)
    outputs.report.clockIn = clockIn.report
    outputs.report.times = times.report(on: cycle.clock)
    outputs.report.outputs = standard.report(
      lostMIDI: lostMIDI, bank: cycle.sounds.number, oldest: rack.takeOldestBank())
    launch.report(into: &outputs.report.launch)
    timebase.report(now, bars, into: &outputs.report.master)
    startStop.report(into: &outputs.report)
    outputs.report.tempoRequests = tempoRequest.count
    outputs.report.hostPhaseError = follower.phaseError
    if case .midi = now.settings.lead { outputs.report.hostPhaseError = clockIn.follower.phaseError }
    outputs.report.awaitsRelocation = awaitsRelocation
    awaitsRelocation = false
    outputs.report.isBetweenPlaces = isBetweenPlaces(now)
    outputs.report.standsStill = firstFrame.still >= now.sampleRate
    outputs.report.isFirstFrameUnknown = !now.isFreewheeling && firstFrame.isUnknown
    if case .starting = now.transport.state {} else { wasRolling = now.isRolling }
    outputs.report.notBefore = now.notBefore
    outputs.report.outputsAhead = now.outputsAhead
  }
}
