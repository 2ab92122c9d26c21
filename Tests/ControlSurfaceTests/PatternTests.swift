// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import ControlSurface

@Suite("Address patterns")
struct PatternTests {
  @Test(
    "Patterns match part by part",
    arguments: [
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
  func table(pattern: String, address: String, matches: Bool) {
    let pattern = AddressPattern(pattern)
    #expect(pattern.matches(address) == matches)
  }

  @Test("A pattern made to be slow matches nothing, soon")
  func bounded() {
    let stars = AddressPattern("/" + String(repeating: "*a", count: 100) + "b")
    #expect(!stars.matches("/" + String(repeating: "a", count: 250)))
    let braces = AddressPattern("/" + String(repeating: "{a,aa,aaa}", count: 40))
    #expect(!braces.matches("/" + String(repeating: "a", count: 250)))
    let slashes = AddressPattern(String(repeating: "//*", count: 60) + "x")
    #expect(!slashes.matches(String(repeating: "/a", count: 120)))
  }
}
