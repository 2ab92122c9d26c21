// SPDX-License-Identifier: GPL-2.0-or-later
internal import LinkWire

/// What a peer says that it or a channel is called, as it can be shown: always UTF-8 of no more than `Wire.maximumNameSize` bytes.
///
/// The reference cuts long names after so many bytes, in the middle of a character if need be (facts: link-audio 2), and `LinkWire` those that
/// nobody cut. What cannot be read is U+FFFD, and the rest of the name stands.
struct PeersName: Sendable {
  let text: String
  let isRepaired: Bool

  init(_ bytes: UnsafeRawBufferPointer) {
    var text = String(decoding: bytes, as: UTF8.self)
    isRepaired = !bytes.elementsEqual(text.utf8)
    // The sign takes three bytes, and may stand for one.
    let size = text.withUTF8 { Wire.nameSize(UnsafeRawBufferPointer($0)) }
    self.text = size < text.utf8.count ? String(decoding: text.utf8.prefix(size), as: UTF8.self) : text
  }

  /// Nil: it is the same as it was. By its bytes: to Unicode two names can be equal that look different.
  init?(_ bytes: UnsafeRawBufferPointer, after old: String) {
    guard !bytes.elementsEqual(old.utf8) else { return nil }
    self.init(bytes)
    guard !text.utf8.elementsEqual(old.utf8) else { return nil }
  }
}
