// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusOSC
import Testing

@testable import TactusSurface

/// Tests the tree without a server; WebTests request the tree by HTTP.
@Suite("OSCQuery")
struct QueryTests {
  static let tree = QueryTree()

  func answer(_ path: String, _ query: String? = nil) -> QueryTree.Answer {
    Self.tree.answer(
      path: path, query: query, SurfaceSnapshot(reading: Desk().machine.reading),
      at: QueryTree.Place(web: 8080))
  }

  @Test
  func `an OSCQuery node has the type, range, access and value of its row`() {
    #expect(answer("/tactus/tempo", "VALUE").body == "{\"VALUE\":[120.0]}")
    #expect(answer("/tactus/tempo", "RANGE").body == "{\"RANGE\":[{\"MIN\":20.0,\"MAX\":999.0}]}")
    #expect(answer("/tactus/tempo", "ACCESS").body == "{\"ACCESS\":3}")
    #expect(answer("/tactus/peers", "ACCESS").body == "{\"ACCESS\":1}")
    #expect(answer("/tactus/launch", "RANGE").body == "{\"RANGE\":[{\"VALS\":[\"now\",\"beat\",\"bar\"]}]}")
    #expect(answer("/tactus/tempo", "HOST_INFO").body == answer("/", "HOST_INFO").body)
    #expect(answer("/tactus/pulse/rate/24", "VALUE").body == "{\"VALUE\":[0.0]}")
    #expect(answer("/tactus/click", "FULL_PATH").body == "{\"FULL_PATH\":\"/tactus/click\"}")
    #expect(answer("/tactus/link/str", "TITLE").body == "{\"TITLE\":\"Link enabled\"}")
    #expect(answer("/tactus", "VALUE").body == "{}")
  }

  @Test
  func `OSCQuery's missing, unreadable or unknown items differ in HTTP status`() {
    #expect(answer("/tactus/nothing").status == 404)
    #expect(answer("/other").status == 404)
    #expect(answer("/tactus/tempo/nudge", "VALUE").status == 204)
    #expect(answer("/tactus/tempo", "SHOE_SIZE").status == 400)
    #expect(answer("/tactus/subscribe").status == 404)
  }

  @Test
  func `no JSON object of the whole OSCQuery tree has a key twice`() {
    let body = answer("/").body
    #expect(
      body.hasPrefix(
        "{\"FULL_PATH\":\"/\",\"CONTENTS\":{\"tactus\":{\"FULL_PATH\":\"/tactus\",\"CONTENTS\":{"))
    let nodes = body.split(separator: "\"FULL_PATH\"")
    #expect(nodes.count > 100)
    // Each node has its path, and then its type or its contents.
    for node in nodes.dropFirst() {
      #expect(node.contains("\"TYPE\"") || node.contains("\"CONTENTS\""), "\(node)")
    }
  }

  @Test
  func `OSCQuery's HOST_INFO has the OSC and WebSocket ports, and LISTEN`() {
    let info = answer("/", "HOST_INFO").body
    for part in [
      "\"OSC_IP\":\"127.0.0.1\"", "\"OSC_PORT\":20809", "\"WS_PORT\":8080", "\"LISTEN\":true",
      "\"IGNORE\":true",
    ] {
      #expect(info.contains(part), "\(part)")
    }
    let mute = Self.tree.answer(
      path: "/", query: "HOST_INFO", SurfaceSnapshot(reading: Desk().machine.reading),
      at: QueryTree.Place(osc: nil, web: 8080))
    #expect(!mute.body.contains("OSC_PORT") && mute.body.contains("WS_PORT"))
  }

  @Test
  func `the time budgets for all controllers stay below a tenth of a core`() {
    let levels = Trust.allCases.map { Cost.share(of: $0).perSecond }
    #expect(levels.reduce(Cost.hands.perSecond, +) <= 75_000)
  }
}
