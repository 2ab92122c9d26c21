// SPDX-License-Identifier: GPL-2.0-or-later

/// Matches addresses against OSC 1.0 patterns, part by part, and OSC 1.1's `//`. liblo's own matcher lets `*`
/// match a slash and does not know `//`.
///
/// The matcher reads the address once. It keeps the set of all places in the pattern that fit what it has
/// read, so it never tries a combination twice, whatever the pattern is. A malformed pattern matches nothing.
package struct AddressPattern {
  /// The limit of a pattern's steps. Only a pattern with a long row of slashes can exceed it, because the
  /// length of an address in a packet is limited, too.
  package static let stepLimit = 256

  private enum Step {
    case literal(UInt8)
    case oneOf(Characters)
    /// `*`, which stands for any number of characters within one part of the address, or none.
    case run
    /// The first slash of `//`, which stands for any number of the address's parts, or none.
    case depth
    /// Skips the characters of the parts for which `//` stands.
    case parts
    /// `{`, with the places at which its choices begin. After each choice, a `jump` leads to the place after
    /// `}`.
    case choices(Places)
    case jump(Int)
    case end
  }

  /// A set of places in the pattern, as bits.
  private typealias Places = SIMD4<UInt64>

  /// Steps of the pattern; empty if it is malformed.
  private var steps: [Step] = []
  /// The cost so far: the length of the pattern plus the number of visited places.
  package private(set) var work = 0

  package init(_ pattern: String) {
    work = pattern.utf8.count
    guard let steps = Self.steps(of: Array(pattern.utf8)), steps.count <= Self.stepLimit else { return }
    self.steps = steps
  }

  package static func isPattern(_ address: some Sequence<UInt8>) -> Bool {
    var last: UInt8 = 0
    for byte in address {
      switch byte {
      case UInt8(ascii: "*"), UInt8(ascii: "?"), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "{"),
        UInt8(ascii: "}"):
        return true
      case slash where last == slash: return true
      default: last = byte
      }
    }
    return false
  }

  package mutating func matches(_ address: String) -> Bool {
    reaches(read(address, from: start))
  }

  /// The indices of the paths below `prefix` that match. nil: the cost would exceed `limit`.
  package mutating func matches(of paths: [String], below prefix: String, atMost limit: Int) -> [Int]? {
    let common = read(prefix, from: start)
    guard common != .zero else { return [] }
    var found: [Int] = []
    for (index, path) in paths.enumerated() {
      guard work <= limit else { return nil }
      if reaches(read(path, from: common)) { found.append(index) }
    }
    return found
  }

  private var start: Places {
    var places = Places.zero
    if !steps.isEmpty { places[0] = 1 }
    return places
  }

  /// The places in the pattern that are reached after the text. Steps that consume no character only lead
  /// forward, so one pass in ascending order is enough.
  private mutating func read(_ text: String, from start: Places) -> Places {
    var places = start
    for byte in text.utf8 where places != .zero {
      var next = Places.zero
      visit(&places) { step, place in
        switch step {
        case .literal(let wanted): if wanted == byte { next.insert(place + 1) }
        case .oneOf(let characters): if characters.contains(byte) { next.insert(place + 1) }
        case .run: if byte != slash { next.insert(place) }
        case .depth: if byte == slash { next.insert(place + 1) }
        case .parts: next.insert(place)
        case .choices, .jump, .end: break
        }
      }
      places = next
    }
    return places
  }

  private mutating func reaches(_ end: Places) -> Bool {
    var places = end
    var isEnd = false
    visit(&places) { step, _ in if case .end = step { isEnd = true } }
    return isEnd
  }

  /// Visits each place once, including the places that can be reached from it without consuming a character.
  private mutating func visit(_ places: inout Places, _ body: (Step, Int) -> Void) {
    for word in 0..<Places.scalarCount {
      var done: UInt64 = 0
      while places[word] & ~done != 0 {
        let bit = (places[word] & ~done).trailingZeroBitCount
        done |= 1 << UInt64(bit)
        work += 1
        let place = word * 64 + bit
        let step = steps[place]
        switch step {
        case .run, .parts: places.insert(place + 1)
        case .depth: places.insert(place + 2)
        case .choices(let starts): places |= starts
        case .jump(let target): places.insert(target)
        case .literal, .oneOf, .end: break
        }
        body(step, place)
      }
    }
  }

  // MARK: reading a pattern

  private static func steps(of pattern: [UInt8]) -> [Step]? {
    var steps: [Step] = []
    var at = 0
    while at < pattern.count {
      switch pattern[at] {
      case UInt8(ascii: "*"):
        // Skip a second star in a row: two stars match the same text as one star.
        if case .run? = steps.last {} else { steps.append(.run) }
      case slash where at + 1 < pattern.count && pattern[at + 1] == slash:
        if case .parts? = steps.last {} else { steps += [.depth, .parts] }
      case UInt8(ascii: "?"): steps.append(.oneOf(Characters(allBut: [slash])))
      case UInt8(ascii: "["):
        guard let end = pattern[at...].firstIndex(of: UInt8(ascii: "]")) else { return nil }
        steps.append(.oneOf(Characters(inBrackets: pattern[(at + 1)..<end])))
        at = end
      case UInt8(ascii: "{"):
        guard let end = pattern[at...].firstIndex(of: UInt8(ascii: "}")) else { return nil }
        guard let choices = choices(pattern[(at + 1)..<end], at: steps.count) else { return nil }
        steps += choices
        at = end
      case let byte: steps.append(.literal(byte))
      }
      at += 1
    }
    return steps + [.end]
  }

  private static func choices(_ text: ArraySlice<UInt8>, at first: Int) -> [Step]? {
    let choices = text.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
    let end = first + 1 + text.count + 1
    var steps: [Step] = []
    var starts = Places.zero
    for choice in choices {
      guard first + steps.count + choice.count + 2 < stepLimit else { return nil }
      starts.insert(first + 1 + steps.count)
      steps += choice.map { .literal($0) } + [.jump(end)]
    }
    return [.choices(starts)] + steps
  }
}

/// A set of ASCII characters, as bits.
private struct Characters {
  private var low: UInt64 = 0
  private var high: UInt64 = 0

  init(allBut excluded: [UInt8]) {
    (low, high) = (.max, .max)
    for byte in excluded { remove(byte) }
  }

  /// Parses the text within `[ ]`: `a-z` is a range, a dash at either end stands for itself, and `!` in front
  /// inverts the set. A slash never matches.
  init(inBrackets text: ArraySlice<UInt8>) {
    let isNegated = text.first == UInt8(ascii: "!")
    var rest = isNegated ? text.dropFirst() : text
    while let first = rest.popFirst() {
      var last = first
      if rest.count >= 2, rest.first == UInt8(ascii: "-") {
        rest.removeFirst()
        last = rest.removeFirst()
      }
      if first <= last { insert(from: first, to: last) }
    }
    if isNegated { (low, high) = (~low, ~high) }
    remove(slash)
  }

  func contains(_ byte: UInt8) -> Bool {
    byte < 64 ? low >> UInt64(byte) & 1 == 1 : byte < 128 && high >> UInt64(byte - 64) & 1 == 1
  }

  /// Inserts a range in constant time. A pattern may consist of ranges only, and its cost counts the few
  /// bytes of a range, not the range's characters.
  private mutating func insert(from first: UInt8, to last: UInt8) {
    /// The bits of all characters below `limit`, among the 64 characters that begin at `base`.
    func below(_ limit: Int, _ base: Int) -> UInt64 {
      limit <= base ? 0 : limit - base >= 64 ? .max : (1 << UInt64(limit - base)) - 1
    }
    let end = Int(last) + 1
    low |= below(end, 0) & ~below(Int(first), 0)
    high |= below(end, 64) & ~below(Int(first), 64)
  }

  private mutating func remove(_ byte: UInt8) {
    if byte < 64 { low &= ~(1 << UInt64(byte)) } else if byte < 128 { high &= ~(1 << UInt64(byte - 64)) }
  }
}

extension SIMD4<UInt64> {
  fileprivate mutating func insert(_ place: Int) { self[place / 64] |= 1 << UInt64(place % 64) }
}
private let slash = UInt8(ascii: "/")
