// SPDX-License-Identifier: GPL-2.0-or-later

extension Link {
  /// What a peer begins with.
  public struct Configuration: Hashable, Sendable {
    /// The tempo while nobody else is there, in BPM: 20 to 999.
    public var tempo: Double
    /// The interfaces to be on, by their names, like `eth0` or `lo`; nil for all. On others nothing is sent, and what comes by them
    /// is not looked at. One that is not there yet is used when it comes.
    public var interfaces: Set<String>?

    /// A tempo, and interfaces if it should not be all.
    public init(tempo: Double = 120, interfaces: Set<String>? = nil) {
      self.tempo = tempo
      self.interfaces = interfaces
    }

    func check() throws(ConfigurationError) {
      guard (20...999).contains(tempo) else { throw .tempo(tempo) }
      guard let interfaces else { return }
      guard !interfaces.isEmpty else { throw .noInterface }
      for name in interfaces.sorted() where !Self.isInterfaceName(name) { throw .interface(name) }
    }

    /// As the kernel takes them: up to 15 bytes, without a slash, colon or space.
    package static func isInterfaceName(_ name: some StringProtocol) -> Bool {
      (1...15).contains(name.utf8.count) && name != "." && name != ".."
        && name.utf8.allSatisfy {
          $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: ":")
        }
    }
  }

  /// Why there is no peer with such a configuration.
  public enum ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A tempo that is no number, or beyond 20 to 999 BPM.
    case tempo(Double)
    /// An empty set of interfaces; nil is all.
    case noInterface
    /// What no interface can be called.
    case interface(String)

    /// In words.
    public var description: String {
      switch self {
      case .tempo(let tempo): "a session has 20 to 999 BPM, not \(tempo)"
      case .noInterface: "an empty set of interfaces; nil is all of them"
      case .interface(let name): "no interface can have the name \"\(name)\""
      }
    }
  }
}
