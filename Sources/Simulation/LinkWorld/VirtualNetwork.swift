// SPDX-License-Identifier: GPL-2.0-or-later
public import LinkBeatMath
import LinkSession
public import LinkWire

/// The losses and delays that a network causes to datagrams.
public struct NetworkConditions: Sendable {
  /// The fraction of datagrams that are lost, clamped to 0...1; 0 replaces NaN.
  public var loss = 0.0 { didSet { loss = loss.asFraction } }
  /// The least delay of a datagram.
  public var delay = Micros(200)
  /// The longest additional random delay of a datagram. Because of it, a later datagram may arrive earlier.
  public var jitter = Micros.zero
  /// The fraction of datagrams that are delayed by up to `holdUp` more, clamped like ``loss``. This makes
  /// bursts of reordering.
  public var reordering = 0.0 { didSet { reordering = reordering.asFraction } }
  /// The longest additional delay by `reordering`.
  public var holdUp = Micros(30_000)
  /// The fraction of datagrams that arrive twice, clamped like ``loss``.
  public var duplication = 0.0 { didSet { duplication = duplication.asFraction } }

  /// A good cable: no losses, and a delay of 200 µs.
  public init() {}

  /// The greatest possible difference between the delay of one datagram and the delay of its answer.
  public var asymmetry: Micros { jitter + (reordering > 0 ? holdUp : .zero) }
}

extension Double {
  fileprivate var asFraction: Double { self >= 0 ? Swift.min(self, 1) : 0 }
}

/// An address on one segment of the network.
public struct Interface: Sendable {
  /// The peer's index; -1 for a guest.
  public let peer: Int
  /// An address of 10/8, different for each interface.
  public let address: Address
  /// The source of this interface's Alives, and the destination of the Responses to them.
  public let discovery: Endpoint
  /// The source of this interface's pings, and the destination of other peers' pings.
  public let measurement: Endpoint
  /// The segment into which the interface is plugged.
  public let segment: Int
  /// The interface's part of a segment that is cut: interfaces in different parts don't hear each other. All
  /// interfaces are in part 0 while the segment is whole.
  public var part = 0
  /// The interface of the other relay, for a connection between rooms; nil for all other interfaces.
  package var farEnd: Int?
  /// The correction for asymmetry that the relay at this interface knows.
  package var correction = Micros.zero
  /// The number of beats by which the other room's grid shall be later than ours.
  package var distance = Beats.zero
  /// False while the power is off: nothing goes in or out.
  public var isUp = true
  /// False while the cable is out: nothing goes in or out, and the interface's machine is not told.
  public var hasCable = true
}

/// A datagram on its way to one receiver.
struct Delivery {
  let target: Int32
  let sender: Int32
  let packet: Int32
  let channel: UInt8
}

/// The packets on their way. A packet to several receivers is stored only once.
struct PacketSlab {
  private var packets: [Packet] = []
  private var uses: [Int32] = []
  private var free: [Int32] = []

  mutating func keep(_ packet: Packet, uses count: Int32) -> Int32 {
    if let slot = free.popLast() {
      packets[Int(slot)] = packet
      uses[Int(slot)] = count
      return slot
    }
    packets.append(packet)
    uses.append(count)
    return Int32(packets.count - 1)
  }

  mutating func retain(_ slot: Int32) { uses[Int(slot)] += 1 }

  mutating func release(_ slot: Int32) -> Packet {
    let packet = packets[Int(slot)]
    uses[Int(slot)] -= 1
    if uses[Int(slot)] == 0 { free.append(slot) }
    return packet
  }
}

extension Dice {
  /// A random number from 0 up to but not including 1.
  package mutating func fraction() -> Double { Double(next() >> 11) * 0x1p-53 }

  package mutating func chance(_ probability: Double) -> Bool {
    probability > 0 && fraction() < probability
  }

  /// A random duration from 0 up to and including `longest`.
  package mutating func duration(upTo longest: Micros) -> Micros {
    Micros(Int64(flooring: fraction() * Double(longest.count + 1)))
  }
}

/// A realistic host clock. It starts at any time, runs a little fast or slow, and may step.
public struct DriftingClock: Sendable {
  private var anchor: (world: Micros, host: Micros)
  /// How much faster than true time the clock runs; negative: slower.
  public private(set) var partsPerMillion: Double

  /// A clock that shows `host` at world time `world`.
  public init(host: Micros, at world: Micros, partsPerMillion: Double = 0) {
    anchor = (world, host)
    self.partsPerMillion = partsPerMillion
  }

  private var rate: Double { 1 + partsPerMillion * 1e-6 }

  /// The time that the clock shows, rounded down as by real clocks.
  public func host(at world: Micros) -> Micros {
    anchor.host + Micros(Int64(flooring: Double((world - anchor.world).count) * rate))
  }

  /// The first world time at which the clock shows `host` or more.
  public func world(at host: Micros) -> Micros {
    let elapsed = Double((host - anchor.host).count) / rate
    var world = anchor.world + Micros(Int64(flooring: elapsed))
    while self.host(at: world) < host { world = world + Micros(1) }
    return world
  }

  /// Jumps by `amount` at that world time; backwards if negative.
  public mutating func step(by amount: Micros, at world: Micros) {
    anchor = (world, host(at: world) + amount)
  }

  /// Continues at another rate from that world time on.
  public mutating func run(atPartsPerMillion partsPerMillion: Double, from world: Micros) {
    anchor = (world, host(at: world))
    self.partsPerMillion = partsPerMillion
  }
}
