// SPDX-License-Identifier: GPL-2.0-or-later

/// OSC 1.0 address patterns, matched part by part, and OSC 1.1's `//`. liblo's own matcher lets `*` cross a slash and
/// does not see `//`.
///
/// The work is bounded by `workLimit`: a pattern made to be slow matches nothing.
struct AddressPattern {
  static let workLimit = 20_000

  private let pattern: [UInt8]
  private var work = 0

  init(_ pattern: String) {
    self.pattern = Array(pattern.utf8)
  }

  static func isPattern(_ address: String) -> Bool {
    var last: UInt8 = 0
    for byte in address.utf8 {
      if "*?[]{}".utf8.contains(byte) || (byte == UInt8(ascii: "/") && last == byte) { return true }
      last = byte
    }
    return false
  }

  func matches(_ address: String) -> Bool {
    var address = address
    var matcher = self
    return address.withUTF8 { matcher.matches(0, $0, 0) }
  }

  private mutating func matches(_ start: Int, _ address: UnsafeBufferPointer<UInt8>, _ from: Int) -> Bool {
    var p = start
    var a = from
    while p < pattern.count {
      work += 1
      guard work < Self.workLimit else { return false }
      switch pattern[p] {
      case UInt8(ascii: "*"):
        return star(p + 1, address, a)
      case UInt8(ascii: "/") where p + 1 < pattern.count && pattern[p + 1] == UInt8(ascii: "/"):
        return anyDepth(p + 1, address, a)
      case UInt8(ascii: "["):
        guard let end = bracket(p, address, a) else { return false }
        p = end
        a += 1
      case UInt8(ascii: "{"):
        return braces(p, address, a)
      case UInt8(ascii: "?"):
        guard a < address.count, address[a] != UInt8(ascii: "/") else { return false }
        p += 1
        a += 1
      case let byte:
        guard a < address.count, address[a] == byte else { return false }
        p += 1
        a += 1
      }
    }
    return a == address.count
  }

  /// Any run of characters, never across a slash.
  private mutating func star(_ rest: Int, _ address: UnsafeBufferPointer<UInt8>, _ from: Int) -> Bool {
    var a = from
    while true {
      if matches(rest, address, a) { return true }
      guard a < address.count, address[a] != UInt8(ascii: "/"), work < Self.workLimit else { return false }
      a += 1
    }
  }

  /// `//`: any number of parts, also none. `rest` is the second slash.
  private mutating func anyDepth(_ rest: Int, _ address: UnsafeBufferPointer<UInt8>, _ from: Int) -> Bool {
    for a in from..<address.count where address[a] == UInt8(ascii: "/") {
      if matches(rest, address, a) { return true }
      guard work < Self.workLimit else { return false }
    }
    return false
  }

  /// Past the closing bracket if the character is in the set.
  private func bracket(_ start: Int, _ address: UnsafeBufferPointer<UInt8>, _ a: Int) -> Int? {
    guard a < address.count, address[a] != UInt8(ascii: "/"),
      let end = pattern[(start + 1)...].firstIndex(of: UInt8(ascii: "]"))
    else { return nil }
    var set = pattern[(start + 1)..<end]
    let negated = set.first == UInt8(ascii: "!")
    if negated { set.removeFirst() }
    var found = false
    var index = set.startIndex
    while index < set.endIndex {
      // A dash first or last is itself.
      if index + 2 < set.endIndex, set[index + 1] == UInt8(ascii: "-") {
        if set[index] <= address[a], address[a] <= set[index + 2] { found = true }
        index += 3
      } else {
        if set[index] == address[a] { found = true }
        index += 1
      }
    }
    return found != negated ? end + 1 : nil
  }

  private mutating func braces(_ start: Int, _ address: UnsafeBufferPointer<UInt8>, _ a: Int) -> Bool {
    guard let end = pattern[start...].firstIndex(of: UInt8(ascii: "}")) else { return false }
    for choice in pattern[(start + 1)..<end].split(
      separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
    {
      work += 1
      guard work < Self.workLimit else { return false }
      if address.count - a >= choice.count, address[a..<a + choice.count].elementsEqual(choice),
        matches(end + 1, address, a + choice.count)
      {
        return true
      }
    }
    return false
  }
}
