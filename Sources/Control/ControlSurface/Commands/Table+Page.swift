// SPDX-License-Identifier: GPL-2.0-or-later
import TactusChoices

extension Table {
  static let page: [Node] =
    Node.rows(
      of: Choice(
        "web/open", \.opensPage,
        "Let phones on this machine's networks open the page; otherwise this machine alone can. Only this machine can set it.",
        in: .page, from: .thisMachine))
    + [
      .label("web/str", "Where browsers find the page, and what is missing.") {
        ([$0.state.page.words] + $0.state.pageLacks).joined(separator: "; ")
      }
    ]
}
