// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
public import LinkSession
internal import Linux
import Synchronization

/// How the network is doing, for a person who asks why there are no peers.
public struct Diagnostics: Sendable {
  /// Why Link is not on the network at all: the system has no more threads or descriptors, say. Nil is good.
  public var failure: String?
  /// The addresses in use, IPv4 first.
  public var addresses: [String]
  /// Addresses that could not be used, and why; tried again every few seconds.
  public var refusals: [String]
  /// Where the other peers in our session are, of at most `placeLimit` addresses.
  public var peers: [PeerPlace]
  /// How many other peers are in our session.
  public var peerCount: Int
  /// Datagrams that the system would not send, on the gateways that are open now.
  public var failedSends: Int
  /// Datagrams that came from outside of the networks of this machine, and were not looked at.
  public var strangers: Int
  /// What was received and what was dropped.
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
  /// Anybody can invent thousands of peers, and nobody reads as many addresses.
  public static let placeLimit = 32

  /// An address, and how many Link apps are there.
  public struct PeerPlace: Hashable, Sendable {
    /// The address, or the words for another room.
    public var name: String
    /// Peers, not ways to them: at least 1.
    public var count: Int

    /// The number of peers at this address.
    public init(name: String, count: Int) {
      self.name = name
      self.count = count
    }
  }
}

/// What any thread, the audio thread too, may ask without waiting.
final class LinkStatus: Sendable {
  let isEnabled = Atomic(false)
  let isActive = Atomic(true)
  let isStartStopSyncEnabled = Atomic(false)
  let peerCount = Atomic(0)
  let isConnected = Atomic(false)
  /// On the network it would be, and is not: `Diagnostics.failure` says why.
  let isMute = Atomic(false)

  func update(_ snapshot: SessionSnapshot) {
    peerCount.store(snapshot.peerCount, ordering: .relaxed)
    isConnected.store(snapshot.isEnabled && snapshot.peerCount > 0, ordering: .relaxed)
  }
}
