// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport

/// A simulated network with faults, from a seed. Times are in microseconds.
struct Network {
  var dice = Dice(seed: 7)
  var delay = 200.0
  /// The largest additional delay, which is drawn for each packet. So packets may be reordered.
  var jitter = 0.0
  /// The probability that a packet is lost, 0 to 1.
  var loss = 0.0
  var doubles = 0.0
  /// The times, in microseconds, between which the network delivers nothing. Packets from this time arrive at
  /// its end.
  var stall: ClosedRange<Double>?

  private var pending: [(arrival: Double, packet: Packet)] = []

  mutating func send(_ packet: Packet) {
    if loss > 0, Double.random(in: 0..<1, using: &dice) < loss { return }
    let copies = doubles > 0 && Double.random(in: 0..<1, using: &dice) < doubles ? 2 : 1
    for _ in 0..<copies {
      var leaves = packet.leaves
      if let stall, stall.contains(leaves) { leaves = stall.upperBound }
      let extra = jitter > 0 ? Double.random(in: 0...jitter, using: &dice) : 0
      let arrival = leaves + delay + extra
      var place = pending.count
      while place > 0, pending[place - 1].arrival > arrival { place -= 1 }
      pending.insert((arrival, packet), at: place)
    }
  }

  /// Returns the packets that have arrived until `time`, in order.
  mutating func receive(until time: Double) -> [Packet] {
    let count = pending.prefix { $0.arrival <= time }.count
    let come = pending.prefix(count).map { arrival, packet in
      var packet = packet
      packet.chunk.arrival = Int64(arrival)
      return packet
    }
    pending.removeFirst(count)
    return come
  }
}
