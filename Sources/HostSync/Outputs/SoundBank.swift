// SPDX-License-Identifier: GPL-2.0-or-later
import Choices

/// Mono samples at the server's rate. Their maker keeps them.
public struct Sound: BitwiseCopyable {
  let samples: UnsafePointer<Float>?
  let count: Int

  /// Its length.
  public var frames: Int { count }

  public init(_ samples: UnsafeBufferPointer<Float>) {
    self.samples = samples.baseAddress
    count = samples.baseAddress == nil ? 0 : samples.count
  }

  /// Nothing to hear.
  public init() {
    samples = nil
    count = 0
  }
}

/// The three sounds of a click. The memory must outlive their last use: keep a bank that was exchanged until
/// `Report.oldestBank` has gone past its number.
public struct SoundBank: BitwiseCopyable {
  public var number: UInt32
  public var accent: Sound
  public var beat: Sound
  public var subdivision: Sound
  /// What needs no file, one for each `ClickSound`, in the same memory; nil: nobody has asked for them.
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

  /// This one, until those that were asked for are there.
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
