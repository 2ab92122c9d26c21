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

  /// Whether these bytes are UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing beyond U+10FFFF.
  @_noLocks @_noAllocation
  static func isText(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var index = 0
    while index < bytes.count {
      let lead = bytes[index]
      index &+= 1
      if lead < 0x80 { continue }
      // How many bytes follow, and between which bounds the first of them lies.
      let following: Int
      var low: UInt8 = 0x80
      var high: UInt8 = 0xbf
      switch lead {
      case 0xc2...0xdf: following = 1
      case 0xe0...0xef:
        following = 2
        if lead == 0xe0 { low = 0xa0 }
        if lead == 0xed { high = 0x9f }
      case 0xf0...0xf4:
        following = 3
        if lead == 0xf0 { low = 0x90 }
        if lead == 0xf4 { high = 0x8f }
      default: return false
      }
      guard bytes.count &- index >= following, bytes[index] >= low, bytes[index] <= high else { return false }
      var next = index &+ 1
      index &+= following
      while next < index {
        guard bytes[next] & 0xc0 == 0x80 else { return false }
        next &+= 1
      }
    }
    return true
  }
}

extension Reader {
  /// The text that begins here, checked: it ends before `end`, is UTF-8 and no longer than a name.
  @_noLocks @_noAllocation
  mutating func nextText(before end: Int) throws(DecodingFailure) -> UnsafeRawBufferPointer {
    guard end &- position >= 4 else { throw .brokenList }
    let size = Int(uint32(at: position))
    guard size <= end &- position &- 4 else { throw .brokenList }
    guard size <= Wire.maximumNameSize else { throw .nameTooLong }
    let text = text()
    guard Wire.isText(text) else { throw .nameNotText }
    return text
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
