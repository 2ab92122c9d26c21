// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath
public import TactusSync

/// A change that `JACKHost.step` has found.
public enum JACKEvent: Equatable, Sendable {
  /// The server is gone; `reason` is JACK's own text. We keep trying to join the server again.
  case serverLost(reason: String)
  case serverReturned(ServerDescription)
  /// JACK does not answer: no cycle ran for 1.5 s. We make no calls to JACK until cycles run again.
  case serverSilent
  case serverAnswers
  /// The whole process was stopped for this time. We leave the server and join it once more.
  case stoodStill(Micros)
  /// The server, which `stepOut` had left, could not be started again. We keep trying to join it.
  case serverNotStarted(JACKError)
  case periodChanged(frames: Int)
  case sampleRateChanged(Int)
  case freewheel(Bool)
  case timebase(Mastership.MasterState)
}

extension ServerDescription {
  /// An event for each of the two settings, period and sample rate, that differs from `before`.
  func changes(since before: Self) -> [JACKEvent] {
    var events: [JACKEvent] = []
    if framesPerPeriod != before.framesPerPeriod { events.append(.periodChanged(frames: framesPerPeriod)) }
    if sampleRate != before.sampleRate { events.append(.sampleRateChanged(sampleRate)) }
    return events
  }
}
