// SPDX-License-Identifier: GPL-2.0-or-later

/// What can be asked of JACK's transport, by anyone at any time.
public enum TransportCommand: Equatable, Sendable {
  case play
  case stop
  /// On the session's next beat that is a multiple of `step`; asked again, or with nothing rolling, at once.
  case stopOn(step: Double)
  case locate(frame: UInt32)
  /// A locate that keeps to the session's grid while the transport rolls: frame and song beat of the place, and the
  /// beats after which it may be heard (0: at once).
  case jump(frame: UInt32, beat: Double, step: Double)
}
