// SPDX-License-Identifier: GPL-2.0-or-later

/// A frame of JACK's transport, and the song's beat there: known by other means than the tempo, since somebody chose it
/// or we send the transport there.
public struct SongPlace: Sendable, BitwiseCopyable {
  public var frame: UInt32 = 0
  public var beat = 0.0

  /// Microseconds from another frame to this place; negative behind it.
  func micros(from frame: UInt32, frameMicros: Double) -> Double {
    Double(Int32(truncatingIfNeeded: self.frame &- frame)) * frameMicros
  }

  /// Another frame of the same song.
  func moved(to frame: UInt32, frameMicros: Double, beatMicros: Double) -> SongPlace {
    SongPlace(frame: frame, beat: beat - micros(from: frame, frameMicros: frameMicros) / beatMicros)
  }
}

/// What it costs to have JACK's transport elsewhere.
enum Reposition {
  /// The control thread looks at wishes every 2 ms while a start waits, and a busy machine makes that 20.
  static let controlMicros = 25_000.0
  /// JACK is asked in the first, Starting in the second, and can roll from the third on (facts: jack 3).
  static let cycles = 3.0

  /// From the wish to the first cycle that can roll, with one cycle to spare, if the other clients take so long.
  static func micros(cycle cycleMicros: Double, othersTake: Double) -> Double {
    controlMicros + (cycles + 1) * cycleMicros + othersTake
  }
}
