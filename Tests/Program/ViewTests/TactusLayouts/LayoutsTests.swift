// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusSurface
import TactusTestSupport
import Testing

@testable import TactusLayouts

@Suite("Layouts for controllers")
struct LayoutsTests {
  @Test
  func `the committed layouts equal those made from the command table`() throws {
    for (path, bytes) in Files.layouts {
      #expect(Files.read("\(Lab.top)/\(path)") == bytes, "\(path) is out of date: run tools/layouts")
    }
    for ((path, table), line) in zip(
      Files.pages,
      ["| `tempo` | f: 20 to 999 BPM; [s: now, beat, bar] |", "| `t` | tap tempo (tempo/tap) |"])
    {
      let page = String(decoding: try #require(Files.read("\(Lab.top)/\(path)")), as: UTF8.self)
      #expect(Files.documentation(page, with: table) == page, "\(path) is out of date: run tools/layouts")
      #expect(page.contains(line))
    }
  }

  @Test(arguments: Layout.all.map(\.name))
  func `a TouchOSC file decodes, and all its addresses are in the table`(
    name: String
  ) throws {
    let script = "/tmp/tactus-\(name)-\(getpid()).lua"
    defer { unlink(script) }
    let reader = try ChildProcess.run([
      "/usr/bin/python3", "\(Lab.top)/Tests/Program/ViewTests/TactusLayouts/readers/tosc_reader.py",
      "\(Lab.top)/sessions/controllers/\(name).tosc", script,
    ])
    #expect(reader.status == 0, "\(reader.errors)")
    var seen: Set<String> = []
    for line in reader.output.split(separator: "\n") where line.hasPrefix("message ") {
      let words = line.split(separator: " ").map(String.init)
      #expect(words[1].hasPrefix("/tactus/"))
      let path = String(words[1].dropFirst("/tactus/".count))
      seen.insert(path)
      let row = try #require(Table.standard.rows.first { $0.path == path }, "\(path) is not in the table")
      if words[2] == "sends" {
        #expect(row.isWritable, "\(path)")
      } else {
        #expect(row.isReadable || row.kind == .feed || row.kind == .answer, "\(path)")
      }
      guard words[3] == "FADER", case .number(let range, _)? = row.parameters.first else { continue }
      #expect(range.contains(Double(words[4]) ?? .nan) && range.contains(Double(words[5]) ?? .nan), "\(path)")
    }
    // These are the controls that a musician needs to play a set.
    for path in [
      "tempo/str", "tempo/tap", "tempo/up", "tempo/down", "start", "stop", "beat/1", "beat/4", "phase",
      "position/bbt",
      "countin/str", "peers/str", "link", "startstop", "click", "click/volume", "clock", "status", "message",
      "error",
    ] where !(path == "status" && name == "tactus-phone") {
      #expect(seen.contains(path), "\(path)")
    }
    // The layout renews its subscription by itself.
    let lua = try ChildProcess.run([
      "lua5.4", "\(Lab.top)/Tests/Program/ViewTests/TactusLayouts/readers/play_script.lua", script,
    ])
    var sent = lua.output.split(separator: "\n")
    #expect(lua.status == 0 && (12...14).contains(sent.count), "\(lua.errors)")
    // The layout sends the proof text back, and nothing else.
    #expect(sent.popLast() == "60000\t/tactus/proof\tabc123")
    #expect(
      sent.allSatisfy { $0.hasSuffix("\t/tactus/subscribe\t9000\tstate beat phase position heartbeat\t20") })
  }

  @Test
  func `layouts set whole quantums and four sounds, and show lost cycles`() throws {
    for layout in Layout.all {
      let controls = layout.pages.flatMap(\.controls)
      #expect(controls.first { $0.path == "quantum" }?.kind == .fader(1...16, inWholeSteps: true))
      #expect(controls.filter { $0.path.hasPrefix("click/sound/") }.count == 4)
      #expect(controls.first { $0.caption == "LOST CYCLES" }?.path == "jack/lost")
      let quantum = try #require(TouchOSC.xml(layout).firstRange(of: "/tactus/quantum]]>"))
      let after = TouchOSC.xml(layout)[quantum.upperBound...].prefix(200)
      #expect(after.contains("<type>VALUE</type><conversion>INTEGER</conversion>"), "\(after)")
    }
  }

  @Test
  func `all addresses of the Open Stage Control session are in the table`()
    throws
  {
    let program = """
      import json, sys
      session = json.load(open(sys.argv[1]))
      assert session["type"] == "session" and session["content"]["type"] == "root"
      names = set()
      for tab in session["content"]["tabs"]:
          assert tab["type"] == "tab"
          for widget in tab["widgets"]:
              assert widget["type"] in ("button", "fader", "text", "led", "script"), widget
              assert widget["width"] > 0 and widget["height"] > 0
              print(widget["address"])
      """
    let reader = try ChildProcess.run([
      "/usr/bin/python3", "-c", program, "\(Lab.top)/sessions/controllers/tactus-open-stage-control.json",
    ])
    #expect(reader.status == 0, "\(reader.errors)")
    let addresses = reader.output.split(separator: "\n")
    #expect(addresses.count > 50)
    for address in addresses {
      #expect(Table.standard.rows.contains { "/tactus/" + $0.path == address }, "\(address)")
    }
  }

  @Test
  func `the pictures of the layouts are well-formed XML`() throws {
    for layout in Layout.all {
      let reader = try ChildProcess.run([
        "/usr/bin/python3", "-c", "import sys, xml.etree.ElementTree as t; t.parse(sys.argv[1])",
        "\(Lab.top)/docs/images/\(layout.name).svg",
      ])
      #expect(reader.status == 0, "\(reader.errors)")
    }
  }
}
