// SPDX-License-Identifier: GPL-2.0-or-later
import TactusOSC

/// The addresses at which controllers reach the surface.
package struct OSCReach: Hashable, Sendable {
  /// Addresses and ports that are open.
  package var open: [String]
  /// The reason for each address that is missing.
  package var missing: [String]
  /// The address of OSCQuery; empty: none.
  package var query: String

  package init(open: [String] = [], missing: [String] = [], query: String = "") {
    (self.open, self.missing, self.query) = (open, missing, query)
  }

  /// Text for people.
  var words: String {
    let open = self.open.isEmpty ? [] : [self.open.joined(separator: ", ")]
    let query = self.query.isEmpty ? [] : [self.query]
    return printable((open + missing + query).joined(separator: "; "), limit: 255)
  }
}
