// SPDX-License-Identifier: GPL-2.0-or-later

/// The place at which the transport stands after tactus has stopped it.
public enum StopPlace: UInt8, Sendable, BitwiseCopyable {
  /// The place at which the transport stopped.
  case here
  /// The beginning of the bar in which the transport stopped.
  case bar
  /// The song's beginning.
  case start
}
