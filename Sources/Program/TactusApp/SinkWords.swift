// SPDX-License-Identifier: GPL-2.0-or-later
import TactusJACK
import TactusSurface

extension SinkChoice {
  /// How many names are shown; further names are only counted.
  private static let shown = 3

  var state: SurfaceState.SinkState { isNameMissing ? .missing : ports.isEmpty ? .none : .found }

  /// A phrase such as "system: click_1 plays there".
  var words: String {
    let lack = isNameMissing ? "; no port has the name in jack/sink" : ""
    guard !ports.isEmpty else { return "none" + lack }
    let more = clients.count > Self.shown ? " and \(clients.count - Self.shown) more" : ""
    let names = clients.prefix(Self.shown).map { $0.prefix(48) }.joined(separator: ", ")
    return "\(names)\(more): \(why)" + lack
  }

  private var why: String {
    switch reason {
    case .named: "jack/sink says so"
    case .click(let port): "\(port.prefix(40)) plays there"
    case .programs: "JACK programs play there, but tactus's click is not connected"
    case .kept: "kept from the start until the transport stops"
    case .nobody: "no JACK program plays, so all count"
    }
  }
}
