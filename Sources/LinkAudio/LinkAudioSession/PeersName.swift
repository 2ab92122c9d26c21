// SPDX-License-Identifier: GPL-2.0-or-later
internal import LinkWire

/// The received name of a peer or a channel, repaired so that it can be shown: always valid UTF-8, and at
/// most `Wire.maximumNameSize` bytes.
///
/// The reference cuts long names at a byte, even inside a character (facts: link-audio 2); `LinkWire` cuts
/// longer names. Unreadable bytes become U+FFFD; the rest of the name stays.
struct PeersName: Sendable {
  let text: String
  let isRepaired: Bool

  init(_ bytes: UnsafeRawBufferPointer) {
    var text = String(decoding: bytes, as: UTF8.self)
    isRepaired = !bytes.elementsEqual(text.utf8)
    // U+FFFD has three bytes and may replace a single byte, so the repaired text can be too long.
    let size = text.withUTF8 { Wire.nameSize(UnsafeRawBufferPointer($0)) }
    self.text = size < text.utf8.count ? String(decoding: text.utf8.prefix(size), as: UTF8.self) : text
  }

  /// Makes the name, or returns nil if `bytes` are the bytes of the old name. Text is not compared, because
  /// Unicode treats some names that look different as equal.
  init?(_ bytes: UnsafeRawBufferPointer, after old: String) {
    guard !bytes.elementsEqual(old.utf8) else { return nil }
    self.init(bytes)
    guard !text.utf8.elementsEqual(old.utf8) else { return nil }
  }
}
