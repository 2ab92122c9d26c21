// SPDX-License-Identifier: GPL-2.0-or-later

/// Learns the lengths of chunks, so that the lengths of missing chunks are known. A sender that cuts periods
/// into pieces makes two lengths in a repeating pattern. With this pattern, a chunk that overtook other
/// chunks gets its exact place, however noisy the stamps are.
struct ChunkLengths: BitwiseCopyable {
  /// The longest pattern, in chunks. A period of 8192 stereo frames is cut into 66 chunks.
  static var longest: UInt64 { 100 }
  /// A pattern is trusted if it was right for as many chunks as it is long, and for this number of chunks
  /// more.
  static var trust: UInt64 { 8 }

  /// The length of the pattern that is tried, in chunks. If a chunk does not fit the pattern, a pattern
  /// longer by one is tried.
  private var pattern: UInt64 = 1
  private var holds: UInt64 = 0
  /// The chunk lengths within the pattern, in frames; 0: not known yet.
  private var frames = InlineArray<100, Int64>(repeating: 0)
  /// The number of the chunk at which the first pattern begins. Chunks are counted from it, so that numbers
  /// may wrap.
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

  /// The number of frames of `count` chunks from `number` on. For a chunk of unknown length, `usual` is
  /// added.
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
