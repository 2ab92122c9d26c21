// SPDX-License-Identifier: GPL-2.0-or-later
import LinkAddresses
import LinkSystem
import Testing

struct AddressTextTests {
  @Test(arguments: [
    (Address.v4(0xc0a8_0117), "192.168.1.23"),
    (.v6(high: 0xfe80 << 48, low: 0x8080, scope: 3), "fe80::8080%3"),
    (.v6(high: 0, low: 1, scope: 0), "::1"), (.v6(high: 0, low: 0, scope: 0), "::"),
    (.v6(high: 0x2001_0db8_0000_0001, low: 0x0001_0000_0000_0001, scope: 0), "2001:db8:0:1:1::1"),
    (.v6(high: 0x0001_0002_0003_0004, low: 0x0005_0006_0007_0008, scope: 0), "1:2:3:4:5:6:7:8"),
  ])
  func `addresses are written in their usual form`(address: Address, text: String) {
    #expect(address.description == text && Address(text) == address)
  }

  @Test func `an endpoint is written with its IPv6 address in brackets`() {
    let scoped = Endpoint(.v6(high: 0xff12 << 48, low: 0x8080, scope: 4), port: 20808)
    #expect(scoped.description == "[ff12::8080%4]:20808" && Endpoint("[ff12::8080%4]:20808") == scoped)
    let plain = Endpoint(.v4(0xe04c_4e4b), port: 20808)
    #expect(plain.description == "224.76.78.75:20808" && Endpoint("224.76.78.75:20808") == plain)
    #expect(Endpoint("224.76.78.75") == nil && Endpoint("224.76.78.75:70000") == nil && Endpoint(":1") == nil)
  }

  @Test func `an address may name its interface, and IPv4 may be written as IPv6`() {
    #expect(Address("fe80::1%lo") == .v6(high: 0xfe80 << 48, low: 1, scope: 1))
    #expect(Address("::ffff:127.0.0.1") == .loopback)
  }

  @Test(arguments: [
    "", "1.2.3", "1.2.3.4.5", "+1.2.3.4", "1.2.3.+4", "256.0.0.1", "1.2.3.4 ", "localhost", "1:2:3", "::1::",
    "fe80::1%",
    "fe80::1%nosuch", "1.2.3.4%1", "12345::", "::1.2.3.256",
  ])
  func `text that is not an address is refused`(text: String) {
    #expect(Address(text) == nil && AddressRange(text) == nil)
  }

  @Test(arguments: [
    ("10.1.2.3/8", "10.255.0.1", "11.1.2.3"), ("10.1.2.3", "10.1.2.3", "10.1.2.2"),
    ("0.0.0.0/0", "9.9.9.9", "::1"),
    ("fe80::/10", "febf::1%1", "fec0::1"), ("2001:db8::/65", "2001:db8::7fff:0:0:1", "2001:db8::8000:0:0:1"),
    ("::/0", "1::2", "1.2.3.4"), ("2001:db8::7", "2001:db8::7", "2001:db8::6"),
  ])
  func `an address range contains only the addresses of its network`(
    range: String, inside: String, outside: String
  ) throws {
    let range = try #require(AddressRange(range))
    #expect(range.contains(try #require(Address(inside))))
    #expect(!range.contains(try #require(Address(outside))))
  }

  @Test(arguments: [
    "1.2.3.4/33", "1.2.3.4/-1", "1.2.3.4/", "::1/129", "1.2.3.4/+8", "1.2.3.4/99999999999999999999",
  ])
  func `text that is not an address range is refused`(text: String) { #expect(AddressRange(text) == nil) }

  @Test func `this machine has a loopback interface`() throws {
    let loopback = try #require(Interface.up()?.first { $0.isLoopback })
    #expect(
      loopback.addresses.contains(.loopback) && loopback.networks.contains { $0.contains(.v4(0x7f09_0909)) })
  }
}
