// SPDX-License-Identifier: GPL-2.0-or-later

/// The names of the ports of Link Audio's channels. No other port of ours may have such a name.
public enum ChannelPortName {
  /// The prefix of a channel that we send.
  public static var sent: StaticString { "send_" }
  /// The suffix of the left port of a stereo channel. `right` is the suffix of the right port.
  public static var left: StaticString { "_l" }
  public static var right: StaticString { "_r" }

  /// Returns whether `name` can be the name of a channel's port, existing or not.
  public static func isOne(_ name: some BidirectionalCollection<UInt8>) -> Bool {
    name.starts(with: bytes(sent)) || ends(name, with: left) || ends(name, with: right)
  }

  private static func ends(_ name: some BidirectionalCollection<UInt8>, with end: StaticString) -> Bool {
    name.reversed().starts(with: bytes(end).reversed())
  }

  private static func bytes(_ text: StaticString) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
  }
}
