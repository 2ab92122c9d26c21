// SPDX-License-Identifier: GPL-2.0-or-later

/// How Link Audio's channels name their ports, which nothing else of ours may be called.
public enum ChannelPortName {
  /// Before the name of a channel that we send.
  public static var sent: StaticString { "send_" }
  /// Behind a stereo channel's name.
  public static var left: StaticString { "_l" }
  public static var right: StaticString { "_r" }

  /// Whether some channel's port can be called so, as far as that can be said of one that is not there.
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
