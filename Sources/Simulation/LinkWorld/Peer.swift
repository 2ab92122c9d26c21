// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
public import LinkSession
public import LinkWire

extension LinkWorld {
  /// A machine with its clock, addresses and user.
  public struct Peer {
    /// The machine, for reading only; inputs go through the world's calls, which drain it.
    public var machine: LinkSession
    /// The machine's host clock; `LinkWorld.host(of:)` reads it.
    public var clock: DriftingClock
    /// The indices of its addresses in `LinkWorld.interfaces`.
    public internal(set) var interfaces: [Int] = []
    /// The last published state.
    public internal(set) var snapshot: SessionSnapshot
    /// All events so far, with the world's time.
    public internal(set) var events: [(at: Micros, LinkSession.Event)] = []
    /// False while its power is off.
    public internal(set) var isRunning = true
    let isRelay: Bool
    var wakeAt: Micros?
  }
}

/// A participant on the wire that is not one of our peers: a reference peer or an attacker.
public protocol Guest: AnyObject {
  /// Receives a datagram at its interface. It may answer by `LinkWorld.send`.
  func receive(
    _ packet: Packet, from source: Endpoint, on interface: Int, via channel: Channel, in world: LinkWorld)
}
