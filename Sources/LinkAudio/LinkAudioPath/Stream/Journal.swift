// SPDX-License-Identifier: GPL-2.0-or-later

/// The places of the last chunks, by their numbers. Numbers wrap.
struct Journal: BitwiseCopyable {
  struct Entry: BitwiseCopyable {
    var number: UInt64 = 0
    var place: Int64 = 0
    /// 0 in an empty entry.
    var frames: Int64 = 0
    var stamp = Stamp(begin: 0, microsPerBeat: 0)

    var end: Int64 { place &+ frames }
  }

  /// Older chunks do not belong to the stream: no network delays a packet by 128 others.
  static var capacity: Int { 128 }

  private var entries = InlineArray<128, Entry>(repeating: Entry())
  private(set) var newest: UInt64 = 0
  var lengths = ChunkLengths()

  init() {}

  /// `mutating` although it only reads: otherwise each call would copy all entries.
  mutating func entry(_ number: UInt64) -> Entry? {
    let entry = entries[Int(truncatingIfNeeded: number % 128)]
    return entry.frames > 0 && entry.number == number ? entry : nil
  }

  /// How much newer a number is than the newest one.
  mutating func distance(of number: UInt64) -> Int64 { Int64(bitPattern: number &- newest) }

  /// The known chunk with the nearest number.
  mutating func nearest(to number: UInt64) -> Entry? {
    for distance in 1..<UInt64(Self.capacity) {
      if let before = entry(number &- distance) { return before }
      if let after = entry(number &+ distance) { return after }
    }
    return nil
  }

  mutating func begin(_ chunk: AudioChunk, at place: Int64) {
    self = Journal()
    newest = chunk.number &- 1
    lengths = ChunkLengths(first: chunk.number)
    add(chunk, at: place)
  }

  mutating func add(_ chunk: AudioChunk, at place: Int64) {
    let frames = Int64(chunk.frames)
    if distance(of: chunk.number) > 0 { newest = chunk.number }
    lengths.add(frames, number: chunk.number)
    entries[Int(truncatingIfNeeded: chunk.number % 128)] = Entry(
      number: chunk.number, place: place, frames: frames, stamp: chunk.stamp)
  }
}
