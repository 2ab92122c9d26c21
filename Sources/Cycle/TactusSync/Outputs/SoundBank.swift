// SPDX-License-Identifier: GPL-2.0-or-later
import TactusChoices

/// A sound as mono samples at the server's sample rate. The module that makes the sound owns the memory.
public struct Sound: BitwiseCopyable {
  let samples: UnsafePointer<Float>?
  let count: Int

  public var frames: Int { count }

  public init(_ samples: UnsafeBufferPointer<Float>) {
    self.samples = samples.baseAddress
    count = samples.baseAddress == nil ? 0 : samples.count
  }

  /// A silent sound.
  public init() {
    samples = nil
    count = 0
  }
}

/// The three sounds of a click. Their memory must outlive their last use: keep a replaced bank until
/// `OutputReport.oldestBank` is greater than the bank's number.
public struct SoundBank: BitwiseCopyable {
  public var number: UInt32
  public var accent: Sound
  public var beat: Sound
  public var subdivision: Sound
  /// The built-in sounds, a bank for each `ClickSound`; nil: they were not requested yet. They live as long
  /// as the bank that holds this pointer.
  public var builtIn: UnsafePointer<SoundBank>?

  public init(number: UInt32, accent: Sound, beat: Sound, subdivision: Sound) {
    self.number = number
    self.accent = accent
    self.beat = beat
    self.subdivision = subdivision
  }

  public init() {
    self.init(number: 0, accent: Sound(), beat: Sound(), subdivision: Sound())
  }

  /// Returns the bank of a built-in sound, or this bank as long as `builtIn` is nil.
  func built(_ sound: ClickSound) -> SoundBank { builtIn.map { $0[Int(sound.rawValue)] } ?? self }

  func sound(for accent: Accent) -> Sound {
    switch accent {
    case .silent: Sound()
    case .subdivision: subdivision
    case .beat: beat
    case .accent: self.accent
    }
  }
}
