// SPDX-License-Identifier: GPL-2.0-or-later

extension Wire {
  /// The bytes of this text that fit in a name, cut between two characters, because no decoder accepts half a
  /// character. Text that is not UTF-8 is cut at about the same place.
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
  /// Reads and checks a text that must end before `end`; a text longer than a name may be is cut. It need not
  /// be UTF-8, which matters only for display: the reference cuts names within a character (facts: link-audio
  /// 2), and a list must not fail because of one bad or long name.
  @_noLocks @_noAllocation
  mutating func nextText(before end: Int) throws(DecodingFailure) -> UnsafeRawBufferPointer {
    guard end &- position >= 4 else { throw .brokenList }
    let size = Int(uint32(at: position))
    guard size <= end &- position &- 4 else { throw .brokenList }
    return text()
  }

  /// Reads a text that was checked before.
  @_noLocks @_noAllocation
  mutating func text() -> UnsafeRawBufferPointer {
    let start = position &+ 4
    let size = Swift.min(Int(uint32(at: position)), Swift.max(bytes.count &- start, 0))
    position = start &+ size
    let all = UnsafeRawBufferPointer(rebasing: bytes[start..<position])
    return UnsafeRawBufferPointer(rebasing: all[..<Wire.nameSize(all)])
  }
}
