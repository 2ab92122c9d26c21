// SPDX-License-Identifier: GPL-2.0-or-later

/// The lag behind the session of a host, such as a DAW, that counts frames by itself. Such a host runs on the
/// sound card's crystal and on the frames that JACK has played. The session runs on time.
///
/// The lag begins with the error of the start. It grows by the crystal's drift, by each lost cycle (JACK's
/// transport does not count them, facts: jack 8), by a locate that did not land on the grid, and by every
/// move of the session under the host. A tempo change does not change the lag: a host either follows the
/// tempo, or plays something else anyway.
struct HostLag: BitwiseCopyable {
  /// The lag in microseconds; positive: the host is late.
  private(set) var micros = 0.0
  /// The song's beat at which the host began to play. `played` is the number of frames since then, which
  /// needs more than 32 bits after half a day.
  private var beat = 0.0
  private var played: Int64 = 0
  /// The transport's frame in the last cycle.
  private var frame: UInt32 = 0
  private var beatMicros = 0.0

  /// Starts over at a start or a locate, at which the host plays `beat` at `frame`.
  mutating func begin(frame: UInt32, beat: Double) {
    self.frame = frame
    self.beat = beat
    played = 0
    beatMicros = 0
  }

  /// Follows the transport to `frame`. `beat` is the song's beat that belongs to the session's present beat;
  /// `beatMicros` is the microseconds per beat.
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
