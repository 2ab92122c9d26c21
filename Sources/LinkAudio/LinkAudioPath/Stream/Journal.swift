// SPDX-License-Identifier: GPL-2.0-or-later

/// The places of the last chunks, found by the chunks' numbers. The numbers may wrap.
struct Journal: BitwiseCopyable {
  struct Entry: BitwiseCopyable {
    var number: UInt64 = 0
    var place: Int64 = 0
    /// The chunk's length in frames; 0 in an empty entry.
    var frames: Int64 = 0
    var stamp = Stamp(begin: 0, microsPerBeat: 0)

    var end: Int64 { place &+ frames }
  }

  /// The number of chunks that are remembered. A chunk that is older does not belong to the stream, because
  /// no network lets a packet be overtaken by 128 packets.
  static var capacity: Int { 128 }

  private var entries = InlineArray<128, Entry>(repeating: Entry())
  private(set) var newest: UInt64 = 0
  var lengths = ChunkLengths()

  init() {}

  /// The entry of a chunk; nil if the chunk is not known. The function is `mutating`, although it only reads,
  /// because otherwise each call would copy all entries.
  mutating func entry(_ number: UInt64) -> Entry? {
    let entry = entries[Int(truncatingIfNeeded: number % 128)]
    return entry.frames > 0 && entry.number == number ? entry : nil
  }

  /// How many chunks later a number is than the newest known number; negative if it is earlier.
  mutating func distance(of number: UInt64) -> Int64 { Int64(bitPattern: number &- newest) }

  /// The known chunk with the number nearest to `number`.
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
