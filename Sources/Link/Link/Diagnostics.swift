// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
public import LinkSession
internal import LinkSystem
import Synchronization

/// The state of the network, for a user without peers.
public struct Diagnostics: Sendable {
  /// Why Link is not on the network at all, for example because no thread or descriptor is free; nil if it
  /// is.
  public var failure: String?
  /// The addresses in use, IPv4 first.
  public var addresses: [String]
  /// Addresses that could not be used, with the reasons; Link tries them again every few seconds.
  public var refusals: [String]
  /// The addresses of the other peers in our session, at most `placeLimit`.
  public var peers: [PeerPlace]
  /// The number of other peers in our session.
  public var peerCount: Int
  /// Datagrams that the system refused to send, on the gateways that are open now.
  public var failedSends: Int
  /// Datagrams from outside this machine's networks; they are ignored.
  public var strangers: Int
  /// Counts of received and of dropped datagrams.
  public var counters: Counters

  init(_ engine: borrowing Engine, _ failure: SystemFailure?) {
    self.failure = (failure ?? engine.gateways.failure)?.description
    addresses = engine.gateways.all.sorted { $0.local < $1.local }.map { $0.local.address.description }
    refusals = engine.gateways.refused.map { local, failure in
      "\(local.address): \(failure.description)"
    }
    peers = engine.session.peerPlaces(atMost: Self.placeLimit).map {
      PeerPlace(name: engine.far?.place(of: $0.address) ?? $0.address.description, count: $0.count)
    }
    peerCount = engine.session.snapshot.peerCount
    failedSends = engine.gateways.all.reduce(0) { $0 + $1.failedSends }
    strangers = engine.strangers
    counters = engine.session.counters
  }
}

extension Diagnostics {
  /// Limits the list, because anyone can invent thousands of peers.
  public static let placeLimit = 32

  /// An address, and the number of Link programs there.
  public struct PeerPlace: Hashable, Sendable {
    /// The address, or the description of another room.
    public var name: String
    /// Peers at this address, at least 1; a peer with several gateways counts once.
    public var count: Int

    /// The number of peers at this address.
    public init(name: String, count: Int) {
      self.name = name
      self.count = count
    }
  }
}

/// Values that any thread, the audio thread included, may read without waiting.
final class LinkStatus: Sendable {
  let isEnabled = Atomic(false)
  let isActive = Atomic(true)
  let isStartStopSyncEnabled = Atomic(false)
  let peerCount = Atomic(0)
  let isConnected = Atomic(false)
  /// Wants to be on the network and cannot; `Diagnostics.failure` gives the reason.
  let isMute = Atomic(false)

  func update(_ snapshot: SessionSnapshot) {
    peerCount.store(snapshot.peerCount, ordering: .relaxed)
    isConnected.store(snapshot.isEnabled && snapshot.peerCount > 0, ordering: .relaxed)
  }
}
