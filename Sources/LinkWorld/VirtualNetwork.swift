// SPDX-License-Identifier: GPL-2.0-or-later
public import BeatMath
import LinkSession
public import LinkWire

/// What a network does to a datagram.
public struct NetworkConditions: Sendable {
  /// The part of all datagrams that is lost, 0...1.
  public var loss = 0.0
  /// Every datagram takes this long...
  public var delay = Micros(200)
  /// ...and, each for itself, up to this much longer; what was sent later may so arrive earlier.
  public var jitter = Micros.zero
  /// The part that is held up for up to `holdUp` more: bursts of reordering.
  public var reordering = 0.0
  /// The longest that `reordering` holds a datagram up.
  public var holdUp = Micros(30_000)
  /// The part that arrives twice.
  public var duplication = 0.0

  /// A good cable: nothing is lost, and everything takes 200 µs.
  public init() {}

  /// How much the ways there and back can differ.
  public var asymmetry: Micros { jitter + (reordering > 0 ? holdUp : .zero) }
}

/// An address on one wire of the network.
public struct Interface: Sendable {
  /// -1 if it is a guest's.
  public let peer: Int
  /// Of 10/8; the world gives each interface its own.
  public let address: Address
  /// Where its Alives come from and Responses to them go.
  public let discovery: Endpoint
  /// Where its pings come from, and others' pings go.
  public let measurement: Endpoint
  /// Which wire it is plugged into.
  public let segment: Int
  /// Who is in one part hears nobody in another: a partition. All are in part 0 when the network is whole.
  public var part = 0
  /// The interface at the other end of a far wire.
  package var farEnd: Int?
  /// What its relay knows of the asymmetry.
  package var correction = Micros.zero
  /// How much later the other room's grid is, as its relay wants it.
  package var distance = Beats.zero
  /// False while the power is off: nothing goes in or out.
  public var isUp = true
  /// False while the cable is out: nothing goes in or out, and its machine is not told.
  public var hasCable = true
}

/// A datagram under way.
struct Delivery {
  let target: Int32
  let sender: Int32
  let packet: Int32
  let channel: UInt8
}

/// Packets under way are kept once, however many will hear them.
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
  /// 0..<1.
  package mutating func fraction() -> Double { Double(next() >> 11) * 0x1p-53 }

  package mutating func chance(_ probability: Double) -> Bool {
    probability > 0 && fraction() < probability
  }

  /// 0...longest.
  package mutating func duration(upTo longest: Micros) -> Micros {
    Micros(Int64(flooring: fraction() * Double(longest.count + 1)))
  }
}

/// A machine's host clock as real ones are: it starts anywhere, runs a little fast or slow, and may step.
public struct DriftingClock: Sendable {
  private var anchor: (world: Micros, host: Micros)
  /// How much faster than true time it runs; below zero, slower.
  public private(set) var partsPerMillion: Double

  /// Shows `host` when it is `world` in the world.
  public init(host: Micros, at world: Micros, partsPerMillion: Double = 0) {
    anchor = (world, host)
    self.partsPerMillion = partsPerMillion
  }

  private var rate: Double { 1 + partsPerMillion * 1e-6 }

  /// Truncated, as clocks are.
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

  /// Jumps by so much at that time of the world's; below zero, back.
  public mutating func step(by amount: Micros, at world: Micros) {
    anchor = (world, host(at: world) + amount)
  }

  /// Goes on at another rate, from what it shows at that time of the world's.
  public mutating func run(atPartsPerMillion partsPerMillion: Double, from world: Micros) {
    anchor = (world, host(at: world))
    self.partsPerMillion = partsPerMillion
  }
}
