// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAddresses
import LinkBeatMath
import LinkSystem
import Testing

@testable import Link

struct FarHostTests {
  @Test(arguments: [
    ("studio.example.org", "studio.example.org", 20_819), ("studio:4711", "studio", 4711),
    ("203.0.113.7", "203.0.113.7", 20_819), ("203.0.113.7:9", "203.0.113.7", 9),
    ("2001:db8::1", "2001:db8::1", 20_819), ("[2001:db8::1]:4711", "2001:db8::1", 4711),
  ])
  func `the host of a room may be written with or without a port`(text: String, host: String, port: Int)
    throws
  {
    let read = try #require(FarHost(text))
    #expect(read.host == host && Int(read.port) == port)
    #expect(FarHost(read.description) == read)
  }

  @Test(arguments: [
    "", ":", "a b", "host:0", "host:65536", "host:x", "[2001:db8::1", "a/b", "--x y", "ho\u{0}st",
    "224.76.78.75", "255.255.255.255:20819", "0.0.0.0", "::", "[ff02::1]:20819",
  ])
  func `invalid text for the host of a room is refused`(text: String) { #expect(FarHost(text) == nil) }

  @Test func `the offset of a room is written after its host name`() {
    func call(_ text: String) -> FarCall? { FarCall(text, offsets: -250...250) }
    let studio = call("studio:4711 offset=-2.5")
    #expect(studio?.host == FarHost("studio:4711") && studio?.correction == Micros(-2500))
    #expect(call("[2001:db8::1]:9")?.correction == .zero)
    #expect(call("studio offset=250") != nil)
    for text in [
      "", " ", "studio ", "studio offset", "studio offset=", "studio offset=x", "studio offset=nan",
      "studio offset=-nan",
      "studio offset=inf", "studio offset=1e999", "studio offset=0x1p63", "studio offset=-250.01",
      "studio offset=251", "studio offset=3 offset=3", "studio  offset=3", "offset=3", "224.0.0.1 offset=1",
      "studio offset=3ms",
    ] {
      #expect(call(text) == nil, "\(text)")
    }
  }

  @Test func `addresses of private networks are recognized`() {
    let near = [
      "10.1.2.3", "172.16.0.1", "172.31.255.1", "192.168.7.2", "100.64.0.1", "100.127.1.1", "127.0.0.1",
      "169.254.1.1", "fd00::1", "fe80::1", "::1",
    ]
    let far = [
      "8.8.8.8", "172.15.0.1", "172.32.0.1", "192.169.0.1", "100.63.0.1", "100.128.0.1", "11.0.0.1",
      "2001:db8::1", "ff02::1",
    ]
    for text in near { #expect(Address(text)?.isPrivate == true, "\(text)") }
    for text in far { #expect(Address(text)?.isPrivate == false, "\(text)") }
  }
}
