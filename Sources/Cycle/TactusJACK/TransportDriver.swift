// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkSystem
import TactusChoices
import TactusSync

/// Carries out the plan for the server's transport, and the locates that the audio thread wants, because the
/// audio thread may not ask JACK itself. [control]
struct TransportDriver {
  var plan = TransportPlan()

  mutating func next(
    _ event: TransportPlan.Event, on running: RunningClient, _ report: Report, sampleRate: Int
  ) {
    let implementation = running.syncLimit.implementation
    let server = TransportServer(
      sampleRate: UInt32(clamping: sampleRate),
      usualLimit: implementation.usualSyncLimit, longestHold: implementation.longestHold,
      rollsFromWhereItStands: implementation.rollsFromWhereItStands)
    let meter = plan.choices.meter
    Question.ask {
      plan.next(event, .init(report, at: HostClock.micros(), on: server)) {
        running.carryOut($0, report, meter)
      }
    }
  }
}

extension RunningClient {
  fileprivate func carryOut(_ action: TransportAction, _ report: Report, _ meter: Meter) {
    // The bar and beat that JACK shows for a beat of the song. nil unless we are timebase master: another
    // master knows its own bars better, and without a master JACK would show our values for ever.
    func bbt(of beat: Double) -> BBT? {
      guard report.master.timebase == .ours else { return nil }
      return BBT(song: Beats(beat), meter: meter, beatsPerMinute: report.tempo)
    }
    switch action {
    case .play: play()
    case .stop: stop()
    case .locate(let frame, let beat): locate(frame, showing: bbt(of: beat))
    case .relocate(let relocation): relocate(relocation, showing: bbt(of: relocation.place.beat))
    case .locateIfOpen(let action): locate(ifOpen: action, showing: bbt(of: action.place.beat))
    case .holdOn: holdOn()
    case .limit(let limit): syncLimit.set(limit)
    case .insistOnLimit: syncLimit.insist()
    }
  }
}
