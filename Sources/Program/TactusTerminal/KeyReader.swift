// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath

/// Turns the bytes that a terminal sends into keys. Every input is accepted; pasted text presses no key.
public struct KeyReader {
  private enum Place {
    case ground, escape, single
    case sequence([UInt8])
  }

  /// How long to wait after the byte of the Escape key. Other keys begin with the same byte, but send more
  /// bytes at once.
  private static let escapeTimeout = Micros(50_000)
  /// The length limit in bytes: no key has a longer sequence.
  private static let longest = 16

  private var place = Place.ground
  private var last = Micros.zero
  private var isPasting = false

  public init() {}

  /// When to call `pause`, unless a byte arrives before; nil: no need.
  public var deadline: Micros? {
    guard case .escape = place else { return nil }
    return last + Self.escapeTimeout
  }

  /// Call this at the deadline: if no byte has arrived since, the user has pressed the Escape key.
  public mutating func pause(at now: Micros) -> Key? {
    guard let deadline, now >= deadline else { return nil }
    place = .ground
    return isPasting ? nil : .escape
  }

  public mutating func read(_ byte: UInt8, at now: Micros) -> Key? {
    last = now
    switch place {
    case .ground: return plain(byte)
    case .escape:
      place = .ground
      switch byte {
      case UInt8(ascii: "["): place = .sequence([])
      case UInt8(ascii: "O"): place = .single
      case 0x1B: place = .escape
      // Alt together with a key does nothing: it must not act as the key alone.
      default: break
      }
      return nil
    case .single:
      place = .ground
      return isPasting ? nil : Self.arrow(byte, isLarge: false)
    case .sequence(let before):
      guard (0x40...0x7E).contains(byte) else {
        let goesOn = before.count < Self.longest && (0x20...0x3F).contains(byte)
        place = goesOn ? .sequence(before + [byte]) : .ground
        return nil
      }
      place = .ground
      return end(of: before, byte)
    }
  }

  private mutating func plain(_ byte: UInt8) -> Key? {
    if byte == 0x1B {
      place = .escape
      return nil
    }
    guard !isPasting else { return nil }
    switch byte {
    case 0x0A, 0x0D: return .enter
    case 0x08, 0x7F: return .backspace
    case 0x0C, 0x20...0x7E: return .character(Unicode.Scalar(byte))
    default: return nil
    }
  }

  private mutating func end(of parameters: [UInt8], _ final: UInt8) -> Key? {
    let numbers = parameters.split(separator: UInt8(ascii: ";")).map {
      Int(String(decoding: $0, as: UTF8.self)) ?? 0
    }
    if final == UInt8(ascii: "~") {
      switch numbers.first {
      case 200: isPasting = true
      case 201: isPasting = false
      case 1, 7: return isPasting ? nil : .home
      case 5: return isPasting ? nil : .pageUp
      case 6: return isPasting ? nil : .pageDown
      default: break
      }
      return nil
    }
    // The sequence's second number minus 1 has a bit for each modifier that is held.
    return isPasting ? nil : Self.arrow(final, isLarge: numbers.count > 1 && numbers[1] > 1)
  }

  /// With Shift, up and down act like page up and page down.
  private static func arrow(_ byte: UInt8, isLarge: Bool) -> Key? {
    switch byte {
    case UInt8(ascii: "A"): isLarge ? .pageUp : .up
    case UInt8(ascii: "B"): isLarge ? .pageDown : .down
    case UInt8(ascii: "C"): .right
    case UInt8(ascii: "D"): .left
    case UInt8(ascii: "H"): .home
    default: nil
    }
  }
}
