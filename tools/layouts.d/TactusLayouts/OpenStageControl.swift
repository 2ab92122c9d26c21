// SPDX-License-Identifier: GPL-2.0-or-later
import TactusJSON5
import TactusSurface

/// The tablet's pages as an Open Stage Control session. Start it with `--send HOST:20809 --osc-port 9001`;
/// the tablet gets values at that port once the user has pressed the SUBSCRIBE button.
enum OpenStageControl {
  static let port = 9001

  static func document(_ layout: Layout) -> String {
    let tabs = layout.pages.map { page in
      JSON5.fields([
        "type": .string("tab"), "id": .string(page.title), "label": .string(page.title),
        "widgets": .list(page.controls.map { widget($0, on: page) } + [subscribe(layout), proof(page)]),
      ])
    }
    return JSON5.fields([
      "version": .string("1.29.8"), "createdWith": .string("Open Stage Control"), "type": .string("session"),
      "content": .fields([
        "type": .string("root"), "id": .string("root"), "tabs": .list(tabs), "widgets": .list([]),
      ]),
    ]).text + "\n"
  }

  private static func widget(_ control: Control, on page: Page) -> JSON5 {
    let kind: KeyValuePairs<String, JSON5> =
      switch control.kind {
      case .push, .toggle:
        [
          "type": .string("button"), "mode": .string(control.kind == .push ? "push" : "toggle"),
          "on": .of(1), "off": .of(0),
        ]
      case .fader(let range, let inWholeSteps):
        [
          "type": .string("fader"), "horizontal": .boolean(true), "decimals": .of(inWholeSteps ? 0 : 2),
          "range": .fields(["min": .of(range.lowerBound), "max": .of(range.upperBound)]),
        ]
      case .light, .ring:
        [
          "type": .string("led"), "range": .fields(["min": .of(0), "max": .of(1)]), "bypass": .boolean(true),
        ]
      case .label: ["type": .string("text"), "value": .string(" "), "bypass": .boolean(true)]
      }
    return .fields(
      kind,
      [
        "id": .string("\(page.title)/\(control.path)"), "label": .string(control.caption),
        "left": .of(control.frame.x), "top": .of(control.frame.y), "width": .of(control.frame.width),
        "height": .of(control.frame.height), "address": .string("/\(Table.root)/\(control.path)"),
        "preArgs": .string(""), "typeTags": .string(control.isSent ? "f" : ""),
      ])
  }

  /// A script that sends each proof text back to tactus, which shows that the tablet receives messages.
  private static func proof(_ page: Page) -> JSON5 {
    .fields([
      "type": .string("script"), "id": .string("\(page.title)/proof"), "visible": .boolean(false),
      "left": .of(0), "top": .of(0), "width": .of(10), "height": .of(10),
      "address": .string("/\(Table.root)/proof"), "preArgs": .string(""), "bypass": .boolean(true),
      "onValue": .string("send('/\(Table.root)/proof', value)"),
    ])
  }

  private static func subscribe(_ layout: Layout) -> JSON5 {
    .fields([
      "type": .string("button"), "mode": .string("tap"),
      "on": .string("state beat phase position heartbeat"), "id": .string("subscribe"),
      "label": .string("SUBSCRIBE"), "left": .of(0), "top": .of(layout.height - Layout.tabBar),
      "width": .of(layout.width), "height": .of(Layout.tabBar),
      "address": .string("/\(Table.root)/subscribe"), "preArgs": .list([.of(port)]),
      "typeTags": .string("is"),
    ])
  }
}
