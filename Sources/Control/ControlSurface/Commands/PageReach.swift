// SPDX-License-Identifier: GPL-2.0-or-later

/// The addresses at which browsers find the page.
public enum PageReach: Hashable, Sendable {
  /// The page is not wanted.
  case off
  /// The page opens with the JACK client, or when its port is free.
  case closed
  case thisMachine(String)
  /// Addresses to type, the best first; empty while there is no network.
  case network([String])

  public var addresses: [String] {
    switch self {
    case .off, .closed: []
    case .thisMachine(let address): [address]
    case .network(let addresses): addresses
    }
  }

  public var isOpen: Bool {
    if case .network = self { true } else { false }
  }

  static let here = ", this machine only"

  /// Text that `init(told:)` reads.
  package var words: String {
    switch self {
    case .off: "off"
    case .closed: "not open yet"
    case .thisMachine(let address): address + Self.here
    case .network([]): "no network now"
    case .network(let addresses): addresses.joined(separator: ", ")
    }
  }

  /// Reads the text that a running tactus sent. nil: it is something else.
  package init?(told: String) {
    let words = String(told.prefix { $0 != ";" })
    if let known = [PageReach.off, .closed, .network([])].first(where: { $0.words == words }) {
      self = known
    } else if words.hasSuffix(Self.here) {
      self = .thisMachine(String(words.dropLast(Self.here.count)))
    } else if words.hasPrefix("http://") {
      self = .network(words.split(separator: ",").map { String($0.drop { $0 == " " }) })
    } else {
      return nil
    }
  }
}
