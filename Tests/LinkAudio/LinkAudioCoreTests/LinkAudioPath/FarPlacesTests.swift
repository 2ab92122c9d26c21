// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

@testable import LinkAudioPath

/// Places (frame numbers of a stream) at the ends of the range of Int64. No real stream gets there, but we
/// compute places from numbers that peers send.
struct FarPlacesTests {
  private static let ends: [Int64] = [
    .max, .max - 1, .max - 1_000, .max / 2, 0, .min, .min + 1, .min + 1_000,
  ]

  @Test(arguments: ends)
  func `the stream clock stays finite for the largest and least frame numbers`(first: Int64) {
    var generator = SystemRandomNumberGenerator()
    let seed = generator.next()
    var dice = Dice(seed: seed)
    for rate in [1, 44_100, UInt32.max] {
      var (course, past) = (StreamClock(place: first, time: 5e6, sampleRate: rate), StreamClockHistory())
      var place = first
      for _ in 0..<2_000 {
        let stamp = 5e6 + Double(Int64(truncatingIfNeeded: dice.next()) >> Int64(dice.next() % 64))
        switch dice.next() % 8 {
        case 0: course.measure(at: place, stamp, &past)
        case 1: course.restart(at: place, stamp, &past)
        case 2: place = Self.ends[Int(dice.next() % UInt64(Self.ends.count))]
        default: course.follow(at: place, stamp, &past)
        }
        place = place &+ Int64(dice.next() % 1_000)
        let time = course.time(at: place)
        let there = past.place(at: stamp, frameMicros: course.frameMicros) ?? course.place(at: stamp)
        guard time.isFinite, there.isFinite, course.frameMicros > 0 else {
          Issue.record("\(time), \(there) at \(place), seed \(seed)")
          return
        }
      }
    }
  }
}
