// SPDX-License-Identifier: GPL-2.0-or-later

/// Where browsers find the page.
public enum PageReach: Hashable, Sendable {
  /// Nobody wants it.
  case off
  /// It opens with the JACK client, or when its port is free.
  case closed
  case thisMachine(String)
  /// Addresses as they are typed, the best first; none while there is no network.
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

  /// Read again by `init(told:)`.
  package var words: String {
    switch self {
    case .off: "off"
    case .closed: "not open yet"
    case .thisMachine(let address): address + Self.here
    case .network([]): "no network now"
    case .network(let addresses): addresses.joined(separator: ", ")
    }
  }

  /// What a running tactus told. nil: it said something else.
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
