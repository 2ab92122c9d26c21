// SPDX-License-Identifier: GPL-2.0-or-later
import Addresses
import ControlSurface
import Glibc
import OSC
import Synchronization
import TestSupport
import Testing

@testable import Web

/// Who may come in at a door, and who keeps others from coming in.
@Suite("Crowded doors", .enabled(if: Lab.isHere, "needs tools/lab --no-server"))
struct StampedeTests {
  @Test
  func `the page of one network is served to that network alone`() throws {
    let (home, stage, venue) = (try PrivateNetwork(), try PrivateNetwork(), try PrivateNetwork())
    try home.cable("stage0", to: stage, "stage1")
    try home.cable("wifi0", to: venue, "venue0")
    try home.ip("addr add 192.168.7.2/24 dev stage0")
    try home.ip("addr add 10.50.0.1/24 dev wifi0")
    for cable in ["stage0", "wifi0"] { try home.ip("link set \(cable) up") }
    try stage.ip("addr add 192.168.7.20/24 dev stage1")
    try venue.ip("addr add 10.50.0.66/24 dev venue0")
    try stage.ip("link set stage1 up")
    try venue.ip("link set venue0 up")
    try venue.ip("route add 192.168.7.2/32 via 10.50.0.1 dev venue0")
    let here = Address.v4(0xc0a8_0702)
    var settings = WebSettings.page
    settings.listen = [Endpoint(here, port: 0)]
    let studio = try home.perform { [settings] in try PageStudio(settings) }
    defer { studio.close() }
    let port = try #require(studio.web.endpoints.first).port
    let host = "192.168.7.2:\(port)"
    try venue.perform {
      let caller = try Caller(port, from: .v4(0x0a32_0042), to: here)
      #expect((try? caller.ask("/session", host: host)) == nil)
    }
    #expect(studio.web.counters.strangers == 1)
    try stage.perform {
      let caller = try Caller(port, from: .v4(0xc0a8_0714), to: here)
      #expect(try caller.ask("/session", host: host).status == 200)
    }
    try home.perform {
      let caller = try Caller(port, from: here, to: here)
      #expect(try caller.ask("/session", host: host).status == 200)
    }
  }
}
