// SPDX-License-Identifier: GPL-2.0-or-later

extension Wire {
  /// How many bytes of this text are sent as a name: all, or as many whole characters of Unicode as fit. No decoder
  /// would take half a character.
  @_noLocks @_noAllocation
  public static func nameSize(_ utf8: UnsafeRawBufferPointer) -> Int {
    guard utf8.count > maximumNameSize else { return utf8.count }
    var size = maximumNameSize
    // The byte after the cut must begin a character.
    while size > 0 && utf8[size] & 0xc0 == 0x80 { size &-= 1 }
    return size
  }
}

extension Reader {
  /// The text that begins here, checked: it ends before `end` and is no longer than a name. Whether it is UTF-8 is left to who
  /// shows it: the reference cuts names within a character (facts: link-audio 2), and the others in the list are not to blame.
  @_noLocks @_noAllocation
  mutating func nextText(before end: Int) throws(DecodingFailure) -> UnsafeRawBufferPointer {
    guard end &- position >= 4 else { throw .brokenList }
    let size = Int(uint32(at: position))
    guard size <= end &- position &- 4 else { throw .brokenList }
    guard size <= Wire.maximumNameSize else { throw .nameTooLong }
    return text()
  }

  /// The same again, of what was checked.
  @_noLocks @_noAllocation
  mutating func text() -> UnsafeRawBufferPointer {
    let start = position &+ 4
    let size = Swift.min(Int(uint32(at: position)), Swift.max(bytes.count &- start, 0))
    position = start &+ size
    return UnsafeRawBufferPointer(rebasing: bytes[start..<position])
  }
}
