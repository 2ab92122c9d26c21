// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
public import LinkSession
public import LinkWire

extension LinkWorld {
  /// A machine with a clock, addresses and a user of its own.
  public struct Peer {
    /// Link itself, to be asked; what happens to it goes through the world's calls, which drain it.
    public var machine: LinkSession
    /// What its machine takes for the time; `LinkWorld.host(of:)` reads it.
    public var clock: DriftingClock
    /// The places of its addresses in `LinkWorld.interfaces`.
    public internal(set) var interfaces: [Int] = []
    /// What it published last.
    public internal(set) var snapshot: SessionSnapshot
    /// All that its user was ever told, with the world's time.
    public internal(set) var events: [(at: Micros, LinkSession.Event)] = []
    /// False after it was pulled out of the world without a goodbye.
    public internal(set) var isRunning = true
    let isRelay: Bool
    var wakeAt: Micros?
  }
}

/// Somebody on the wire who is not one of our peers: a reference's peer, an attacker.
public protocol Guest: AnyObject {
  /// A datagram has reached its interface. It may answer by `LinkWorld.send`.
  func hear(
    _ packet: Packet, from source: Endpoint, on interface: Int, via channel: Channel, in world: LinkWorld)
}
