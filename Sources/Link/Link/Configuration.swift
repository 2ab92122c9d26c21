// SPDX-License-Identifier: GPL-2.0-or-later

extension Link {
  /// The settings with which a peer starts.
  public struct Configuration: Hashable, Sendable, Codable {
    /// The tempo until a peer is found, in BPM: 20 to 999.
    public var tempo: Double
    /// Names of the interfaces to use, like `eth0` or `lo`; nil for all. Link sends nothing on other
    /// interfaces and ignores datagrams that come through them. An interface that appears later is used from
    /// then on.
    public var interfaces: Set<String>?
    /// Whether starts and stops are shared with the peers from the beginning.
    public var isStartStopSyncEnabled: Bool

    /// Creates a configuration.
    ///
    /// - Parameters:
    ///   - tempo: The tempo until a peer is found, in BPM: 20 to 999.
    ///   - interfaces: Names of the interfaces to use; nil for all.
    ///   - isStartStopSyncEnabled: Whether starts and stops are shared with the peers.
    ///
    /// Thread-safe: yes. Real-time-safe: no.
    public init(
      tempo: Double = 120, interfaces: Set<String>? = nil, isStartStopSyncEnabled: Bool = false
    ) {
      self.tempo = tempo
      self.interfaces = interfaces
      self.isStartStopSyncEnabled = isStartStopSyncEnabled
    }

    func check() throws(ConfigurationError) {
      guard (20...999).contains(tempo) else { throw .tempo(tempo) }
      guard let interfaces else { return }
      guard !interfaces.isEmpty else { throw .noInterface }
      for name in interfaces.sorted() where !Self.isInterfaceName(name) { throw .interface(name) }
    }

    /// Whether the kernel accepts the name: up to 15 bytes, without a slash, colon or space.
    package static func isInterfaceName(_ name: some StringProtocol) -> Bool {
      (1...15).contains(name.utf8.count) && name != "." && name != ".."
        && name.utf8.allSatisfy {
          $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: ":")
        }
    }
  }

  /// The reason why a configuration is invalid.
  public enum ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The tempo is not a number, or outside 20 to 999 BPM.
    case tempo(Double)
    /// The set of interfaces is empty; nil stands for all interfaces.
    case noInterface
    /// No interface can have this name.
    case interface(String)

    /// The reason as a sentence.
    public var description: String {
      switch self {
      case .tempo(let tempo): "a session has 20 to 999 BPM, not \(tempo)"
      case .noInterface: "an empty set of interfaces; nil is all of them"
      case .interface(let name): "no interface can have the name \"\(name)\""
      }
    }
  }
}
