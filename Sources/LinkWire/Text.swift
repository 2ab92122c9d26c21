// SPDX-License-Identifier: GPL-2.0-or-later

extension Wire {
  /// How many bytes of this text are a name: all, or as many whole characters of Unicode as fit. No decoder would take half a
  /// character. Of what is no text, about as many.
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
  /// The text that begins here, as much of it as is a name, checked: it ends before `end`. Whether it is UTF-8 is left to who
  /// shows it: the reference cuts names within a character (facts: link-audio 2), and the others in the list are not to blame. Nor are
  /// they if one has more bytes than a name may have.
  @_noLocks @_noAllocation
  mutating func nextText(before end: Int) throws(DecodingFailure) -> UnsafeRawBufferPointer {
    guard end &- position >= 4 else { throw .brokenList }
    let size = Int(uint32(at: position))
    guard size <= end &- position &- 4 else { throw .brokenList }
    return text()
  }

  /// The same again, of what was checked.
  @_noLocks @_noAllocation
  mutating func text() -> UnsafeRawBufferPointer {
    let start = position &+ 4
    let size = Swift.min(Int(uint32(at: position)), Swift.max(bytes.count &- start, 0))
    position = start &+ size
    let all = UnsafeRawBufferPointer(rebasing: bytes[start..<position])
    return UnsafeRawBufferPointer(rebasing: all[..<Wire.nameSize(all)])
  }
}
