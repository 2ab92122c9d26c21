// SPDX-License-Identifier: GPL-2.0-or-later
import LinkWire

/// The order in which offered channels get a place if there are too few places: first the channels that match
/// the narrowest pattern, then each peer's main channel, then channels that sound, then by name.
struct ChannelOrder {
  struct Rank: Comparable {
    /// The number of characters, other than `*`, in the narrowest pattern that matches the channel.
    var narrowness: Int
    var isMain: Bool
    var sounds: Bool

    static let last = Rank(narrowness: 0, isMain: false, sounds: false)

    /// Whether `left` gets a place before `right`.
    static func < (left: Rank, right: Rank) -> Bool {
      if left.narrowness != right.narrowness { return left.narrowness > right.narrowness }
      if left.isMain != right.isMain { return left.isMain }
      return left.sounds && !right.sounds
    }
  }

  /// All channels that the user wants, in the order in which they get a place.
  let ranked: [ChannelNames.Named]
  private let ranks: [ChannelID: Rank]

  subscript(id: ChannelID) -> Rank? { ranks[id] }

  /// - Parameter offered: the offered channels, sorted by name.
  init(_ offered: [ChannelNames.Named], _ wanted: [ReceivedText], _ sounded: Set<ChannelID>) {
    let patterns = wanted.map { ($0, $0.isExact ? Int.max : $0.name.count { $0 != "*" }) }
    var ranks: [ChannelID: Rank] = [:]
    var mains: [NodeID: ChannelNames.Named] = [:]
    for channel in offered {
      let narrowest = patterns.lazy.filter { $0.0.matches(channel.name) }.map(\.1).max()
      guard let narrowest else { continue }
      ranks[channel.id] = Rank(narrowness: narrowest, isMain: false, sounds: sounded.contains(channel.id))
      let isFirst = mains[channel.peer] == nil
      if isFirst || channel.isMain && mains[channel.peer]?.isMain == false { mains[channel.peer] = channel }
    }
    for main in mains.values { ranks[main.id]?.isMain = true }
    self.ranks = ranks
    ranked = offered.enumerated().filter { ranks[$0.element.id] != nil }.sorted { left, right in
      let (first, second) = (ranks[left.element.id]!, ranks[right.element.id]!)
      return first < second || !(second < first) && left.offset < right.offset
    }.map(\.element)
  }
}

/// The order in which people expect names: "Drums 2" comes before "Drums 10".
enum NaturalOrder {
  static func precedes(_ left: String, _ right: String) -> Bool {
    var left = Substring(left).utf8
    var right = Substring(right).utf8
    while let first = left.first, let second = right.first {
      if isDigit(first), isDigit(second) {
        let numbers = (number(&left), number(&right))
        if numbers.0.count != numbers.1.count { return numbers.0.count < numbers.1.count }
        if !numbers.0.elementsEqual(numbers.1) { return numbers.0.lexicographicallyPrecedes(numbers.1) }
      } else {
        guard first == second else { return first < second }
        left.removeFirst()
        right.removeFirst()
      }
    }
    return left.isEmpty && !right.isEmpty
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

  /// Takes the number at the beginning, and returns its digits without leading zeros.
  private static func number(_ text: inout Substring.UTF8View) -> Substring.UTF8View {
    let digits = text.prefix(while: isDigit)
    text = text.dropFirst(digits.count)
    return digits.drop { $0 == 0x30 }
  }
}
