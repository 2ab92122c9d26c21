// SPDX-License-Identifier: GPL-2.0-or-later

/// The place where the transport stands after a stop by tactus.
public enum StopPlace: UInt8, Sendable, BitwiseCopyable {
  /// Where it stopped.
  case here
  /// The beginning of the bar in which it stopped.
  case bar
  /// The song's beginning.
  case start
}
