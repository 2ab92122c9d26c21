// SPDX-License-Identifier: GPL-2.0-or-later
import ControlSurface

/// `tactus man`: the manual's pages, made from the tables that the program itself reads.
struct ManCommand: Subcommand {
  static let name = "man"
  static let summary = "Print a page of the manual for man -l"
  static let operands = "[PAGE]"
  static let operandWords = Page.allCases.map(\.rawValue)
  static let description = """
    Prints tactus(1), or with PAGE osc tactus-osc(7): tactus man | man -l -
    """

  enum Page: String, CaseIterable {
    case tactus, osc
  }

  var asksForHelp = false

  func run(_ operands: [String]) throws(Complaint) -> Tactus.Status {
    guard operands.count < 2, let page = Page(rawValue: operands.first ?? "tactus") else {
      throw Complaint(
        "takes \(Self.operandWords.inWords), not \"\(operands.joined(separator: " "))\"", .mistyped)
    }
    switch page {
    case .tactus: return Console.answer(ManualPage.text)
    case .osc:
      let page = Table.standard.manPage(version: Tactus.version, date: Tactus.released)
      return Console.answer(ManualPage.filled(page))
    }
  }
}
