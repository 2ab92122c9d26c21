// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import TactusOSC

@Suite("Address patterns")
struct PatternTests {
  @Test(arguments: [
    ("/bridge/*", "/bridge/tempo", true), ("/*", "/bridge/tempo", false),
    ("/bridge/{click,clock}", "/bridge/clock", true), ("/bridge/{click,clock}", "/bridge/clack", false),
    ("/bridge/cl[!i]ck", "/bridge/clock", true), ("/bridge/cl[!i]ck", "/bridge/click", false),
    ("/bridge/click*", "/bridge/click/volume", false), ("/bridge/cl?ck", "/bridge/click", true),
    ("/bridge/cl[a-m]ck", "/bridge/click", true), ("/bridge/cl[a-h]ck", "/bridge/click", false),
    ("/a[-x]b", "/a-b", true), ("/a[x-]b", "/a-b", true), ("//tempo", "/tempo", true),
    ("//tempo", "/bridge/tempo", true), ("/bridge//volume", "/bridge/click/volume", true),
    ("//volume", "/bridge/click", false), ("/*/tempo", "/bridge/tempo", true),
    ("/b*e/t*o", "/bridge/tempo", true),
    ("/**", "/bridge", true), ("/bridge/{,x}tempo", "/bridge/tempo", true),
    ("/bridge/[", "/bridge/[", false),
    ("/bridge/{click", "/bridge/click", false), ("/?", "//", false), ("", "", true),
  ])
  func `OSC address patterns match part by part`(pattern: String, address: String, matches: Bool) {
    var pattern = AddressPattern(pattern)
    let found = pattern.matches(address)
    #expect(found == matches)
  }

  @Test
  func `matching an OSC pattern never takes more steps than its limit`() {
    for (text, address) in [
      ("/" + String(repeating: "*a", count: 100) + "b", "/" + String(repeating: "a", count: 250)),
      ("/" + String(repeating: "{a,aa,aaa}", count: 20), "/" + String(repeating: "a", count: 250)),
      (String(repeating: "//*", count: 60) + "x", String(repeating: "/a", count: 120)),
      ("/" + String(repeating: "{,}", count: 82) + "x", "/tactus/click/volume"),
    ] {
      var pattern = AddressPattern(text)
      let found = pattern.matches(address)
      #expect(!found)
      #expect(pattern.work <= AddressPattern.stepLimit * (address.utf8.count + 1), "\(text): \(pattern.work)")
    }
  }

  /// The rules of OSC as the standard states them, implemented in a simple and slow way.
  private func isMatch(_ pattern: Substring, _ address: Substring) -> Bool {
    guard let first = pattern.first else { return address.isEmpty }
    func rest(_ count: Int) -> Substring { pattern.dropFirst(count) }
    if pattern.hasPrefix("//") {
      guard address.first == "/" else { return false }
      return address.indices.contains { address[$0] == "/" && isMatch(rest(1), address[$0...]) }
    }
    switch first {
    case "*":
      return isMatch(rest(1), address)
        || (address.first.map { $0 != "/" && isMatch(pattern, address.dropFirst()) } ?? false)
    case "?": return address.first.map { $0 != "/" && isMatch(rest(1), address.dropFirst()) } ?? false
    case "[":
      guard let end = pattern.firstIndex(of: "]"), let character = address.first, character != "/" else {
        return false
      }
      var set = pattern[pattern.index(after: pattern.startIndex)..<end]
      let isNegated = set.first == "!"
      if isNegated { set.removeFirst() }
      var members = ""
      while let low = set.popFirst() {
        if set.first == "-", let high = set.dropFirst().first {
          members += (0..<128).map { Character(UnicodeScalar(UInt8($0))) }.filter { low <= $0 && $0 <= high }
          set = set.dropFirst(2)
        } else {
          members.append(low)
        }
      }
      return members.contains(character) != isNegated
        && isMatch(pattern[pattern.index(after: end)...], address.dropFirst())
    case "{":
      guard let end = pattern.firstIndex(of: "}") else { return false }
      let choices = pattern[pattern.index(after: pattern.startIndex)..<end]
      return choices.split(separator: ",", omittingEmptySubsequences: false).contains {
        address.hasPrefix($0) && isMatch(pattern[pattern.index(after: end)...], address.dropFirst($0.count))
      }
    default: return address.first == first && isMatch(rest(1), address.dropFirst())
    }
  }

  /// All texts that consist of at most `count` of these pieces.
  private func all(_ pieces: [String], upTo count: Int) -> [String] {
    var found = [""]
    var longest = [""]
    for _ in 0..<count {
      longest = longest.flatMap { text in pieces.map { text + $0 } }
      found += longest
    }
    return found
  }

  /// The pairs of pattern and address for which the matcher and the simple implementation disagree.
  private func wrong(_ patterns: [String], _ addresses: [String]) -> [String] {
    patterns.flatMap { text in
      addresses.filter { address in
        var pattern = AddressPattern(text)
        return pattern.matches(address) != isMatch(text[...], address[...])
      }.map { "\(text) \($0)" }
    }
  }

  @Test
  func `all small OSC patterns match all small addresses as the standard says`() {
    let pieces = ["a", "b", "/", "*", "?", "//", "[a]", "[!a]", "[a-b]", "{a,ab}", "{,b}", "{a/b,/}"]
    let addresses = all(["a", "b", "/"], upTo: 3).map { "/" + $0 }
    #expect(wrong(all(pieces, upTo: 3).map { "/" + $0 }, addresses) == [])
  }

  @Test
  func `OSC patterns of any characters match as the standard says`() {
    let pieces = ["a", "/", "*", "[", "]", "{", "}", ",", "!", "-"]
    #expect(wrong(all(pieces, upTo: 4).map { "/" + $0 }, ["/", "/a", "/aa", "/a/a", "/-", "/aaa/a"]) == [])
  }

  @Test
  func `a range in an OSC pattern's brackets matches all between its ends`() {
    let ends: [UInt8] = [1, 45, 63, 64, 65, 126, 127].filter { $0 != UInt8(ascii: "-") }
    for (first, last) in ends.flatMap({ first in ends.map { (first, $0) } }) {
      func letter(_ byte: UInt8) -> String { String(UnicodeScalar(byte)) }
      for not in ["", "!"] {
        var pattern = AddressPattern("/[\(not)\(letter(first))-\(letter(last))]")
        let found = (UInt8(1)..<128).filter { pattern.matches("/" + letter($0)) }
        let meant = (UInt8(1)..<128).filter {
          (first <= $0 && $0 <= last) != (not == "!") && $0 != UInt8(ascii: "/")
        }
        #expect(found == meant, "\(not)\(first)-\(last)")
      }
    }
  }
}
