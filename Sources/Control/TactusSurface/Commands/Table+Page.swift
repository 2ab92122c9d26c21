// SPDX-License-Identifier: GPL-2.0-or-later
import TactusChoices

extension Table {
  static let page: [Node] =
    Node.rows(
      of: Choice(
        "web/open", \.opensPage,
        "Open the page to phones on this machine's networks; otherwise only this machine reaches it. "
          + "Only this machine can set it.",
        in: .page, from: .thisMachine))
    + [
      .label("web/str", "The page's addresses, and what is missing.") {
        ([$0.state.page.reach.words] + $0.state.page.missing).joined(separator: "; ")
      },
      .readings(
        "web/reach", [PageReach.words.parameter, .whole(0...100)], each: [.text(limit: 255)],
        "Where the page is open, as a fixed word for programs: nowhere (off), not yet (closed), for this machine (here) or for its networks; "
          + "the number of its addresses, and the addresses."
      ) { $0.state.page.reach.told }.restoring { $0.page.reach = PageReach(told: $1) },
      .list("web/missing", "How many addresses the page lacks, and the reason for each.") {
        $0.state.page.missing
      }.restoring { $0.page.missing = $1.listed },
    ]
}
