// SPDX-License-Identifier: GPL-2.0-or-later
import TactusOSC

/// The addresses at which controllers reach the surface.
package struct OSCReach: Hashable, Sendable {
  /// Addresses and ports that are open.
  package var open: [String]
  /// The addresses at which the surface should listen but cannot, each with the reason.
  package var missing: [String]
  /// The address of OSCQuery; empty: OSCQuery has none.
  package var query: String

  package init(open: [String] = [], missing: [String] = [], query: String = "") {
    (self.open, self.missing, self.query) = (open, missing, query)
  }

  /// The addresses and the reasons in words.
  var words: String {
    let open = self.open.isEmpty ? [] : [self.open.joined(separator: ", ")]
    let query = self.query.isEmpty ? [] : [self.query]
    return printable((open + missing + query).joined(separator: "; "), limit: 255)
  }
}
