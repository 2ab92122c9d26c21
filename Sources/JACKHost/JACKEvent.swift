// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
public import HostSync

/// What a step of `JACKHost` found.
public enum JACKEvent: Equatable, Sendable {
  /// The server is gone; the reason is JACK's own. We go on trying to come back.
  case serverLost(reason: String)
  case serverReturned(ServerDescription)
  /// JACK does not answer: no cycle for a second and a half. Nothing is asked of it until it does again.
  case serverSilent
  case serverAnswers
  /// The whole process was stopped for so long. We leave the server, and come back.
  case stoodStill(Micros)
  /// It was to be started again after we had stepped out. We go on trying to come back.
  case serverNotStarted(JACKError)
  case periodChanged(frames: Int)
  case sampleRateChanged(Int)
  case freewheel(Bool)
  case timebase(Mastership.Standing)
}

extension ServerDescription {
  /// What a server changes under its clients.
  func changes(since before: Self) -> [JACKEvent] {
    var events: [JACKEvent] = []
    if framesPerPeriod != before.framesPerPeriod { events.append(.periodChanged(frames: framesPerPeriod)) }
    if sampleRate != before.sampleRate { events.append(.sampleRateChanged(sampleRate)) }
    return events
  }
}

/// What can be asked of JACK's transport, by anyone at any time.
public enum TransportCommand: Equatable, Sendable {
  case play
  case stop
  /// On the song's next bar line, or on the session's next beat; asked again, or with nothing rolling, at once.
  case stopOn(bar: Bool)
  case locate(frame: UInt32)
  /// A locate that keeps to the session's grid while the transport rolls: frame and song beat of the place, and the
  /// beats after which it may be heard (0: at once).
  case jump(frame: UInt32, beat: Double, step: Double)
}
