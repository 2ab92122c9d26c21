// SPDX-License-Identifier: GPL-2.0-or-later

/// The click at one place of a bar.
public enum Accent: UInt8, Sendable, BitwiseCopyable {
  case silent
  case subdivision
  case beat
  case accent
}

/// The clicks of a bar in the letters of the metronome program klick: `X` is an accent, `x` a plain beat, `.`
/// silence. Each letter is one click. At every bar line the letters begin from the first one; within a longer
/// bar they repeat. A pattern has up to 64 letters; an empty pattern means "no pattern".
public struct Pattern: Hashable, Sendable, BitwiseCopyable {
  public static var longest: Int { 64 }

  public private(set) var count = 0
  private var sounding: UInt64 = 0
  private var accented: UInt64 = 0

  public init() {}

  /// nil if `letters` contains a letter that is not in the list, or more than 64 letters.
  public init?(_ letters: some Sequence<UInt8>) {
    for letter in letters {
      guard count < Self.longest else { return nil }
      let bit: UInt64 = 1 << UInt64(count)
      switch letter {
      case UInt8(ascii: "X"):
        sounding |= bit
        accented |= bit
      case UInt8(ascii: "x"): sounding |= bit
      case UInt8(ascii: "."): break
      default: return nil
      }
      count += 1
    }
  }

  /// The click at `place`, counted from the bar line; the pattern repeats.
  @_noLocks @_noAllocation
  public subscript(place: Int64) -> Accent {
    guard count > 0 else { return .silent }
    let remainder = place % Int64(count)
    let bit: UInt64 = 1 << UInt64(remainder < 0 ? remainder &+ Int64(count) : remainder)
    if accented & bit != 0 { return .accent }
    return sounding & bit != 0 ? .beat : .silent
  }
}
