// SPDX-License-Identifier: GPL-2.0-or-later

/// The addresses at which browsers find the page.
public enum PageReach: Hashable, Sendable {
  /// The user does not want the page.
  case off
  /// The page will open together with the JACK client, or when its port is free.
  case closed
  case thisMachine(String)
  /// The addresses to type, the best one first; empty while there is no network.
  case network([String])
  case unknown

  public var addresses: [String] {
    switch self {
    case .off, .closed, .unknown: []
    case .thisMachine(let address): [address]
    case .network(let addresses): addresses
    }
  }

  public var isOpen: Bool {
    if case .network = self { true } else { false }
  }

  package var words: String {
    switch self {
    case .off: "off"
    case .closed: "not open yet"
    case .thisMachine(let address): address + ", this machine only"
    case .network([]): "no network now"
    case .network(let addresses): addresses.joined(separator: ", ")
    case .unknown: SurfaceState.unknown
    }
  }
}
