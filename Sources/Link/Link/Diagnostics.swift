// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
package import LinkSession
package import LinkSystem
import Synchronization

extension Link {
  /// Why Link or Link Audio is not on the network.
  public enum Failure: Error, Hashable, Sendable, CustomStringConvertible {
    /// No interface with an address is running. Link finds an interface that comes later.
    case noInterface
    /// None of the interfaces in the configuration is running.
    case noChosenInterface
    /// The system refused a call, with this error number.
    case system(call: String, code: Int32)

    package init(_ failure: SystemFailure) {
      self = .system(call: "\(failure.call)", code: failure.code)
    }

    /// The reason as text, like "bind: Address already in use".
    public var description: String {
      switch self {
      case .noInterface: "no running interface has an address"
      case .noChosenInterface: "none of the chosen interfaces: No such device"
      case .system(let call, let code): "\(call): \(String(cString: strerror(code)))"
      }
    }
  }

  /// The state of the network, for a user without peers.
  ///
  /// If ``sent`` grows and ``ownHeard`` does not, the network or a firewall blocks multicast: Link does not
  /// even hear itself. If both grow and ``peers`` is empty, there are no peers.
  public struct Diagnostics: Hashable, Sendable, CustomStringConvertible {
    /// Why Link is not on the network although it should be; nil if it is, or is disabled.
    public var failure: Failure?
    /// The addresses in use, IPv4 first.
    public var addresses: [String]
    /// Addresses that could not be used, with the reasons; Link tries them again every few seconds.
    public var refusals: [String]
    /// The addresses of the other peers in our session, at most ``placeLimit``.
    public var peers: [PeerPlace]
    /// The number of other peers in our session.
    public var peerCount: Int
    /// The number of datagrams that were sent through the addresses in use.
    public var sent: Int
    /// The number of datagrams that the system refused to send, on the addresses in use.
    public var failedSends: Int
    /// The number of received datagrams that this `Link` itself had sent to all peers.
    public var ownHeard: Int { counters.own }
    /// The number of received datagrams, including those from this `Link` itself.
    public var received: Int { counters.received }
    /// The number of received datagrams that are not Link's, or are broken.
    public var malformed: Int { counters.malformed }
    /// The number of datagrams from outside this machine's networks; they are ignored.
    public var strangers: Int
    /// All counters of received and dropped datagrams.
    package var counters: Counters

    init(_ engine: borrowing Engine, _ failure: SystemFailure?) {
      let gateways = engine.gateways
      self.failure = failure.map { Failure($0) } ?? gateways.shownFailure
      addresses = gateways.all.sorted { $0.local < $1.local }.map { $0.local.address.description }
      refusals = gateways.refused.map { local, failure in "\(local.address): \(failure.description)" }
      peers = engine.session.peerPlaces(atMost: Self.placeLimit).map {
        PeerPlace(name: engine.far?.place(of: $0.address) ?? $0.address.description, count: $0.count)
      }
      peerCount = engine.session.snapshot.peerCount
      sent = gateways.all.reduce(0) { $0 + $1.sent }
      failedSends = gateways.all.reduce(0) { $0 + $1.failedSends }
      strangers = engine.strangers
      counters = engine.session.counters
    }

    /// The main values as text, like "192.168.1.2; 2 peers; sent 40, heard 12".
    public var description: String {
      let place = failure.map { "\($0)" } ?? addresses.joined(separator: " ")
      return "\(place); \(peerCount) peer\(peerCount == 1 ? "" : "s"); sent \(sent), heard \(received)"
    }
  }
}

extension Link.Diagnostics {
  /// The most entries of ``peers``. The list has a limit because anyone can invent thousands of peers.
  public static let placeLimit = 32

  /// An address, and the number of Link programs there.
  public struct PeerPlace: Hashable, Sendable, CustomStringConvertible {
    /// The address, or the description of another room (a network joined over the Internet).
    public var name: String
    /// Peers at this address, at least 1; a peer with several gateways counts once.
    public var count: Int

    package init(name: String, count: Int) {
      self.name = name
      self.count = count
    }

    /// The address and the number of Link programs as text, like "192.168.1.2: 1 peer".
    ///
    /// Thread-safe: yes. Real-time-safe: no.
    public var description: String { "\(name): \(count) peer\(count == 1 ? "" : "s")" }
  }
}

/// Values that any thread, the audio thread included, may read without waiting.
final class LinkStatus: Sendable {
  let isEnabled = Atomic(false)
  let isActive = Atomic(true)
  let isStartStopSyncEnabled = Atomic(false)
  let isSongSyncEnabled = Atomic(false)
  let peerCount = Atomic(0)
  let isConnected = Atomic(false)
  /// The tempo in BPM, as the bits of a `Double`.
  let tempo = Atomic<UInt64>(0)
  let isPlaying = Atomic(false)
  /// Whether Link should be on the network and cannot; `Diagnostics.failure` gives the reason.
  let isMute = Atomic(false)

  func update(_ snapshot: SessionSnapshot) {
    tempo.store(snapshot.state.tempo.bitPattern, ordering: .relaxed)
    isPlaying.store(snapshot.state.isPlaying, ordering: .relaxed)
    peerCount.store(snapshot.peerCount, ordering: .relaxed)
    isConnected.store(snapshot.isEnabled && snapshot.peerCount > 0, ordering: .relaxed)
  }
}
