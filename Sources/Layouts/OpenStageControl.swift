// SPDX-License-Identifier: GPL-2.0-or-later
import ControlSurface

/// The tablet's pages as an Open Stage Control session. Start it with `--send HOST:20809 --osc-port 9001`, and it is
/// told at that port once the SUBSCRIBE button has been pressed.
enum OpenStageControl {
  static let port = 9001

  static func document(_ layout: Layout) -> String {
    let tabs = layout.pages.map { page in
      JSON.object([
        ("type", .text("tab")), ("id", .text(page.title)), ("label", .text(page.title)),
        ("widgets", .list(widgets(page) + [subscribe(layout), proof(page)])),
      ])
    }
    return JSON.object([
      ("version", .text("1.29.8")), ("createdWith", .text("Open Stage Control")), ("type", .text("session")),
      (
        "content",
        .object([
          ("type", .text("root")), ("id", .text("root")), ("tabs", .list(tabs)), ("widgets", .list([])),
        ])
      ),
    ]).text + "\n"
  }

  private static func widgets(_ page: Page) -> [JSON] {
    page.controls.map { control in
      var members: [(String, JSON)] = []
      switch control.kind {
      case .push:
        members = [("type", .text("button")), ("mode", .text("push")), ("on", .whole(1)), ("off", .whole(0))]
      case .toggle:
        members = [
          ("type", .text("button")), ("mode", .text("toggle")), ("on", .whole(1)), ("off", .whole(0)),
        ]
      case .fader(let range, let inWholeSteps):
        members = [
          ("type", .text("fader")), ("horizontal", .truth(true)), ("decimals", .whole(inWholeSteps ? 0 : 2)),
          ("range", .object([("min", .number(range.lowerBound)), ("max", .number(range.upperBound))])),
        ]
      case .light, .ring:
        members = [
          ("type", .text("led")), ("range", .object([("min", .number(0)), ("max", .number(1))])),
          ("bypass", .truth(true)),
        ]
      case .label:
        members = [("type", .text("text")), ("value", .text(" ")), ("bypass", .truth(true))]
      }
      members += [
        ("id", .text("\(page.title)/\(control.path)")), ("label", .text(control.caption)),
        ("left", .number(control.frame.x)), ("top", .number(control.frame.y)),
        ("width", .number(control.frame.width)), ("height", .number(control.frame.height)),
        ("address", .text("/\(Table.root)/\(control.path)")), ("preArgs", .text("")),
        ("typeTags", .text(control.isSent ? "f" : "")),
      ]
      return .object(members)
    }
  }

  /// Sends back what shows that it hears.
  private static func proof(_ page: Page) -> JSON {
    .object([
      ("type", .text("script")), ("id", .text("\(page.title)/proof")), ("visible", .truth(false)),
      ("left", .number(0)), ("top", .number(0)), ("width", .number(10)), ("height", .number(10)),
      ("address", .text("/\(Table.root)/proof")), ("preArgs", .text("")), ("bypass", .truth(true)),
      ("onValue", .text("send('/\(Table.root)/proof', value)")),
    ])
  }

  private static func subscribe(_ layout: Layout) -> JSON {
    .object([
      ("type", .text("button")), ("mode", .text("tap")), ("on", .text("state beat phase position heartbeat")),
      ("id", .text("subscribe")), ("label", .text("SUBSCRIBE")), ("left", .number(0)),
      ("top", .number(layout.height - Layout.tabBar)), ("width", .number(layout.width)),
      ("height", .number(Layout.tabBar)), ("address", .text("/\(Table.root)/subscribe")),
      ("preArgs", .list([.whole(Int64(port))])), ("typeTags", .text("is")),
    ])
  }
}
