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
        "Who can open the page, as a fixed word for programs: nobody (off), nobody yet (closed), this "
          + "machine (here) or its networks (network); then the number of the page's addresses, and the "
          + "addresses."
      ) { $0.state.page.reach.told }.restoring { $0.page.reach = PageReach(told: $1) },
      .list(
        "web/missing",
        "The number of addresses at which the page can't be opened yet, and the reason for each."
      ) {
        $0.state.page.missing
      }.restoring { $0.page.missing = $1.listed },
    ]
}
