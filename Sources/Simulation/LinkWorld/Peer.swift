// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath
public import LinkSession
public import LinkWire

extension LinkWorld {
  /// A machine with its clock, addresses and user.
  public struct Peer {
    /// The machine, for reading only. Inputs go through the world's functions, which also drain the machine.
    public var machine: LinkSession
    /// The machine's host clock; `LinkWorld.host(of:)` reads it.
    public var clock: DriftingClock
    /// The indices of the peer's addresses in `LinkWorld.interfaces`.
    public internal(set) var interfaces: [Int] = []
    /// The state that the peer published last.
    public internal(set) var snapshot: SessionSnapshot
    /// All events of the peer so far, with the world's time.
    public internal(set) var events: [(at: Micros, LinkSession.Event)] = []
    /// False while the peer's power is off.
    public internal(set) var isRunning = true
    let isRelay: Bool
    var wakeAt: Micros?
  }
}

/// A participant on the network that is not one of the world's peers, such as another implementation or an
/// attacker.
public protocol Guest: AnyObject {
  /// Receives a datagram at one of the guest's interfaces. The guest may answer by `LinkWorld.send`.
  func receive(
    _ packet: Packet, from source: Endpoint, on interface: Int, via channel: Channel, in world: LinkWorld)
}
