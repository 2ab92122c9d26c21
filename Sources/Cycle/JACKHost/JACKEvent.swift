// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
public import HostSync

/// A change that a step of `JACKHost` found.
public enum JACKEvent: Equatable, Sendable {
  /// The server is gone; the reason is JACK's own. We keep trying to return.
  case serverLost(reason: String)
  case serverReturned(ServerDescription)
  /// JACK does not answer: no cycle ran for 1.5 s. We ask it nothing until it answers again.
  case serverSilent
  case serverAnswers
  /// The whole process was stopped for this time. We leave the server and return.
  case stoodStill(Micros)
  /// The server could not be started again after `stepOut`. We keep trying to return.
  case serverNotStarted(JACKError)
  case periodChanged(frames: Int)
  case sampleRateChanged(Int)
  case freewheel(Bool)
  case timebase(Mastership.Standing)
}

extension ServerDescription {
  /// The settings that the server has changed.
  func changes(since before: Self) -> [JACKEvent] {
    var events: [JACKEvent] = []
    if framesPerPeriod != before.framesPerPeriod { events.append(.periodChanged(frames: framesPerPeriod)) }
    if sampleRate != before.sampleRate { events.append(.sampleRateChanged(sampleRate)) }
    return events
  }
}

/// A command for JACK's transport, which any client may give at any time.
public enum TransportCommand: Equatable, Sendable {
  case play
  case stop
  /// Stops on the song's next bar line or the session's next beat; at once if asked again or if nothing
  /// rolls.
  case stopOn(bar: Bool)
  case locate(frame: UInt32)
  /// A locate that keeps the session's grid while the transport rolls: frame and song beat of the place, and
  /// the number of beats on whose grid it may be heard (0: at once).
  case jump(frame: UInt32, beat: Double, step: Double)
  /// Sends a transport that has stopped where `Settings.stopPlace` says.
  case goBack
}
