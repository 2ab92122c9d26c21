// SPDX-License-Identifier: GPL-2.0-or-later

/// A frame of JACK's transport and the song's beat at that frame. The beat is known without the tempo: a user
/// chose the place, or we send the transport to it.
public struct SongPlace: Sendable, BitwiseCopyable {
  public var frame: UInt32 = 0
  public var beat = 0.0

  /// The microseconds from `frame` to this place; negative if the place comes before `frame`.
  func micros(from frame: UInt32, frameMicros: Double) -> Double {
    Double(Int32(truncatingIfNeeded: self.frame &- frame)) * frameMicros
  }

  /// Returns the place of another frame in the song, at the present tempo.
  func moved(to frame: UInt32, frameMicros: Double, beatMicros: Double) -> SongPlace {
    SongPlace(frame: frame, beat: beat - micros(from: frame, frameMicros: frameMicros) / beatMicros)
  }
}

/// The time that a locate of JACK's transport takes.
enum Reposition {
  /// The microseconds until the control thread has carried out an action. While a start waits, the thread
  /// looks at actions every 2 ms; on a busy machine it may take 20 ms.
  static let controlMicros = 25_000.0
  /// The number of cycles that JACK needs: JACK is asked in the first cycle, is Starting in the second, and
  /// can roll from the third on (facts: jack 3).
  static let cycles = 3.0

  /// The microseconds from an action to the first cycle that can roll, with one cycle to spare. `othersTake`
  /// are the microseconds that other clients need.
  static func micros(cycle cycleMicros: Double, othersTake: Double) -> Double {
    controlMicros + (cycles + 1) * cycleMicros + othersTake
  }
}
