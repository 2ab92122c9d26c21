// SPDX-License-Identifier: GPL-2.0-or-later

/// How far a host that counts frames by itself is behind the session: a DAW runs on the sound card's crystal and on
/// frames that JACK has played, the session on time.
///
/// It begins with what the start was off, and grows by the crystal's drift, by each lost cycle (JACK's transport does
/// not count them, facts: jack 8), by a locate that did not land on the grid, and by whatever moves the session
/// under the host. A tempo change leaves it: a host follows it, or plays something else anyway.
struct HostLag: BitwiseCopyable {
  /// Positive: the host is late.
  private(set) var micros = 0.0
  /// The song's beat that the host played first, and the frames since then: after half a day more than 32 bits of them.
  private var beat = 0.0
  private var played: Int64 = 0
  /// The frame looked at last.
  private var frame: UInt32 = 0
  private var beatMicros = 0.0

  /// A start or a locate: what the host plays at this frame is this beat.
  mutating func begin(frame: UInt32, beat: Double) {
    self.frame = frame
    self.beat = beat
    played = 0
    beatMicros = 0
  }

  /// `beat` is the session's at this frame, `beatMicros` microseconds of a beat.
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
