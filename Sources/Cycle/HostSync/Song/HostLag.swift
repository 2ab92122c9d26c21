// SPDX-License-Identifier: GPL-2.0-or-later

/// The lag behind the session of a host that counts frames by itself: a DAW runs on the sound card's crystal
/// and on frames that JACK has played, the session on time.
///
/// The lag begins with the error of the start. It grows by the crystal's drift, by each lost cycle (JACK's
/// transport does not count them, facts: jack 8), by a locate that did not land on the grid, and by every
/// move of the session under the host. A tempo change leaves it as it is: a host either follows the tempo, or
/// plays something else anyway.
struct HostLag: BitwiseCopyable {
  /// Positive: the host is late.
  private(set) var micros = 0.0
  /// The song's beat that the host played first, and the frames since then: more than 32 bits of them after
  /// half a day.
  private var beat = 0.0
  private var played: Int64 = 0
  /// The frame in the last cycle.
  private var frame: UInt32 = 0
  private var beatMicros = 0.0

  /// Begins at a start or a locate: the host plays `beat` at `frame`.
  mutating func begin(frame: UInt32, beat: Double) {
    self.frame = frame
    self.beat = beat
    played = 0
    beatMicros = 0
  }

  /// `beat`: the session's beat at this frame. `beatMicros`: microseconds per beat.
  mutating func follow(frame: UInt32, beat: Double, beatMicros: Double, nominalPerFrame: Double) {
    played &+= Int64(Int32(truncatingIfNeeded: frame &- self.frame))
    self.frame = frame
    if self.beatMicros != 0, self.beatMicros != beatMicros {
      self.beat = beat - micros / beatMicros
      played = 0
    }
    self.beatMicros = beatMicros
    micros = (beat - self.beat) * beatMicros - Double(played) * nominalPerFrame
  }
}
