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
  case latenciesChanged(PortLatencies)
  case timebase(Mastership.Standing)
}
