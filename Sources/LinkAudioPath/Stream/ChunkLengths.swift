// SPDX-License-Identifier: GPL-2.0-or-later

/// How long chunks are that are not here: who cuts periods into pieces makes pieces of two lengths, in a pattern that comes
/// again. Known by it, a chunk that overtook others lies exactly in its place, whatever the stamps are wrong by.
struct ChunkLengths: BitwiseCopyable {
  /// Of chunks: a period of 8192 stereo frames is cut into 66.
  static var longest: UInt64 { 100 }
  /// Beyond the pattern's own length, so often it must have held.
  static var trust: UInt64 { 8 }

  /// What comes again after so many. Each that did not hold was followed by the next.
  private var pattern: UInt64 = 1
  private var holds: UInt64 = 0
  /// By place in the pattern; 0: nobody knows.
  private var frames = InlineArray<100, Int64>(repeating: 0)
  /// Places are counted from here, so that numbers may wrap.
  private var first: UInt64 = 0

  init(first: UInt64 = 0) { self.first = first }

  var areKnown: Bool { holds >= Self.trust &+ pattern }

  mutating func add(_ length: Int64, number: UInt64) {
    let place = Int(truncatingIfNeeded: (number &- first) % pattern)
    if frames[place] == length {
      holds = min(holds &+ 1, 1000)
    } else if frames[place] == 0 {
      frames[place] = length
    } else {
      pattern = pattern % Self.longest &+ 1
      holds = 0
      frames = InlineArray(repeating: 0)
      frames[Int(truncatingIfNeeded: (number &- first) % pattern)] = length
    }
  }

  /// Of `count` chunks from `number` on. Those of which nothing is known are as long as `usual`.
  mutating func sum(of count: Int64, from number: UInt64, usual: Int64) -> Int64 {
    guard areKnown, count > 0, count <= 128 else { return count &* usual }
    var place = Int(truncatingIfNeeded: (number &- first) % pattern)
    var sum: Int64 = 0
    for _ in 0..<count {
      sum &+= frames[place] > 0 ? frames[place] : usual
      place = place &+ 1 == Int(pattern) ? 0 : place &+ 1
    }
    return sum
  }
}
