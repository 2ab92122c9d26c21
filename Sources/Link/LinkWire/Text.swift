// SPDX-License-Identifier: GPL-2.0-or-later

extension Wire {
  /// The bytes of this text that fit in a name, cut between two characters, because no decoder accepts half a
  /// character. A text that is not valid UTF-8 is cut at about this length, too.
  @_noLocks @_noAllocation
  public static func nameSize(_ utf8: UnsafeRawBufferPointer) -> Int {
    guard utf8.count > maximumNameSize else { return utf8.count }
    var size = maximumNameSize
    // The byte after the cut must begin a character.
    while size > maximumNameSize &- 4 && utf8[size] & 0xc0 == 0x80 { size &-= 1 }
    return size
  }
}

extension Reader {
  /// Reads a text that must end at or before `end`. A text that is longer than the longest allowed name is
  /// cut. The text need not be valid UTF-8, because Ableton's library cuts names within a character (facts:
  /// link-audio 2). A list must not be refused because of one bad or long name.
  @_noLocks @_noAllocation
  mutating func nextText(before end: Int) throws(DecodingFailure) -> UnsafeRawBufferPointer {
    guard end &- position >= 4 else { throw .brokenList }
    let size = Int(uint32(at: position))
    guard size <= end &- position &- 4 else { throw .brokenList }
    return text()
  }

  /// Reads a text whose length was checked before.
  @_noLocks @_noAllocation
  mutating func text() -> UnsafeRawBufferPointer {
    let start = position &+ 4
    let size = Swift.min(Int(uint32(at: position)), Swift.max(bytes.count &- start, 0))
    position = start &+ size
    let all = UnsafeRawBufferPointer(rebasing: bytes[start..<position])
    return UnsafeRawBufferPointer(rebasing: all[..<Wire.nameSize(all)])
  }
}
