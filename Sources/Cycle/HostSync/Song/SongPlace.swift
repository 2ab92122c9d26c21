// SPDX-License-Identifier: GPL-2.0-or-later

/// A frame of JACK's transport and the song's beat there. It is known without the tempo: a user chose it, or
/// we send the transport there.
public struct SongPlace: Sendable, BitwiseCopyable {
  public var frame: UInt32 = 0
  public var beat = 0.0

  /// Microseconds from `frame` to this place; negative if the place is before it.
  func micros(from frame: UInt32, frameMicros: Double) -> Double {
    Double(Int32(truncatingIfNeeded: self.frame &- frame)) * frameMicros
  }

  /// Returns the place at another frame of the same song.
  func moved(to frame: UInt32, frameMicros: Double, beatMicros: Double) -> SongPlace {
    SongPlace(frame: frame, beat: beat - micros(from: frame, frameMicros: frameMicros) / beatMicros)
  }
}

/// The time that a locate of JACK's transport takes.
enum Reposition {
  /// Microseconds. The control thread looks at wishes every 2 ms while a start waits; on a busy machine it
  /// may take 20.
  static let controlMicros = 25_000.0
  /// JACK is asked in the first cycle, is Starting in the second, and can roll from the third on (facts: jack
  /// 3).
  static let cycles = 3.0

  /// Microseconds from the wish to the first cycle that can roll, with one cycle to spare, if other clients
  /// need `othersTake`.
  static func micros(cycle cycleMicros: Double, othersTake: Double) -> Double {
    controlMicros + (cycles + 1) * cycleMicros + othersTake
  }
}
