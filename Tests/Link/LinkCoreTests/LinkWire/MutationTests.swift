// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import LinkWire
import Testing

/// A short run of `tools/bench fuzz`: damaged packets must not end the program, and an accepted packet must
/// stay the same when it is written and read again.
struct MutationTests {
  /// The generator SplitMix64: the same seed gives the same numbers.
  struct Seeded: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state &+= 0x9e37_79b9_7f4a_7c15
      var z = state
      z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
      z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
      return z ^ (z >> 31)
    }
  }

  static func wounded(_ packet: [UInt8], using generator: inout Seeded) -> [UInt8] {
    var packet = packet
    for _ in 0..<Int.random(in: 1...4, using: &generator) {
      let place = Int.random(in: 0...packet.count, using: &generator)
      switch Int.random(in: 0..<6, using: &generator) {
      case 0: packet.removeSubrange(place...)
      case 1: packet.insert(UInt8.random(in: 0...255, using: &generator), at: place)
      case 2: packet += packet[place...]
      case 3 where packet.count >= 28:  // sizes and types lie here more often than chance would hit them
        packet[[8, 9, 10, 27].randomElement(using: &generator) ?? 8] = UInt8.random(
          in: 0...40, using: &generator)
      default:
        if place < packet.count { packet[place] ^= 1 << UInt8.random(in: 0...7, using: &generator) }
      }
    }
    return packet
  }

  @Test func `damaged packets are refused or survive writing and reading`() {
    var generator = Seeded(state: 20808)
    var accepted = 0, refused = [DecodingFailure: Int]()
    let seeds = Array(Capture.datagrams.prefix(60)) + [WorkedMessageTests.alive, WorkedMessageTests.pong2]
    for _ in 0..<60_000 {
      let packet = Self.wounded(seeds.randomElement(using: &generator) ?? [], using: &generator)
      do {
        try checkDiscovery(packet)
        accepted += 1
      } catch let failure as DecodingFailure {
        refused[failure, default: 0] += 1
      } catch {
        Issue.record("\(error)")
      }
      do {
        _ = try decodeMeasurement(packet)
        accepted += 1
      } catch let failure as DecodingFailure {
        refused[failure, default: 0] += 1
      } catch {
        Issue.record("\(error)")
      }
    }
    // Some damaged packets must be accepted, and others must be refused for each of these reasons.
    #expect(accepted > 5_000)
    for failure in [.brokenPayload, .wrongEntrySize, .impossibleTempo, .pingTooLong] as [DecodingFailure] {
      #expect(refused[failure, default: 0] > 10, "\(failure)")
    }
  }

  func checkDiscovery(_ packet: [UInt8]) throws {
    var first = try decodeDiscovery(packet)
    // An absurdly slow tempo is not exact as a `Double`. We never send such a tempo, so it need not stay the
    // same.
    if case .alive(let state, let ttl) = first, state.timeline.tempo.beatsPerMinute < 1 {
      var other = state
      other.timeline.tempo = Tempo(120)
      first = .alive(other, ttl: ttl)
    }
    if case .response(let state, let ttl) = first, state.timeline.tempo.beatsPerMinute < 1 {
      var other = state
      other.timeline.tempo = Tempo(120)
      first = .response(other, ttl: ttl)
    }
    #expect(try decodeDiscovery(encode(first).array) == first)
  }
}
