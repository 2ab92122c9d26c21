// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import TactusChoices

extension HostSync {
  /// Fills this cycle's report.
  mutating func report(
    _ now: borrowing CycleContext, _ cycle: inout Cycle, into outputs: inout Outputs
  ) {
    times.report(on: cycle.clock, into: &outputs.report)
    lostMIDI &+= UInt64(outputs.events.dropped)
    outputs.report.lostMIDI = lostMIDI
    outputs.report.sessionBeat = now.grid.beat(at: now.heard.start)
    outputs.report.tempo = now.session.tempo
    outputs.report.tempoRequests = tempoRequest.count
    outputs.report.moment = CycleStamp(now)
    song.report(into: &outputs.report)
    launch.report(into: &outputs.report)
    outputs.report.awaitsRelocation = awaitsRelocation
    awaitsRelocation = false
    outputs.report.isBetweenPlaces = isBetweenPlaces(now)
    outputs.report.standsStill = firstFrame.still >= now.sampleRate
    outputs.report.isFirstFrameUnknown = !now.isFreewheeling && firstFrame.isUnknown
    if case .starting = now.transport.state {} else { wasRolling = now.isRolling }
    outputs.report.notBefore = now.notBefore
    outputs.report.outputsAhead = now.outputsAhead
    timebase.report(now, bars, into: &outputs.report)
    if !now.isFreewheeling, song.isRolling, !timebase.isForeign {
      outputs.report.hostLag = song.lag.micros
    }
    standard.report(bank: cycle.sounds.number, into: &outputs.report)
    outputs.report.oldestBank = min(outputs.report.oldestBank, rack.takeOldestBank())
    outputs.report.ahead = bend.ahead
    outputs.report.bars = bars
    startStop.report(into: &outputs.report)
    follower.report(into: &outputs.report)
    clockIn.report(now, into: &outputs.report)
  }
}
