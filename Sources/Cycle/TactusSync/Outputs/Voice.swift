// SPDX-License-Identifier: GPL-2.0-or-later

/// A sound that is playing. It begins at a frame, may last for many buffers, and ends by itself or by a fade.
struct Voice: BitwiseCopyable {
  private(set) var sound = Sound()
  private(set) var bank: UInt32 = 0
  private var position = 0
  /// The voice's level: 1 until the voice fades, then `fall` less with every frame.
  private var level: Float = 1
  private var fall: Float = 0

  var isSounding: Bool { position < sound.count }
  var isFading: Bool { fall > 0 }
  var played: Int { position }

  init() {}

  init(_ sound: Sound, bank: UInt32) {
    self.sound = sound
    self.bank = bank
  }

  mutating func fade(frames: Float) {
    guard fall == 0 else { return }
    fall = 1 / max(1, frames)
  }

  /// Adds the voice's sound to the buffer, from the frame `first` on.
  mutating func play(into buffer: AudioBuffer, from first: Int) {
    guard let samples = sound.samples, let output = buffer.start, first < buffer.count else { return }
    let length = max(0, min(buffer.count - first, sound.count - position))
    let (source, target) = (samples + position, output + first)
    if isFading { return fade(source, into: target, length) }
    for index in 0..<length { target[index] += source[index] }
    position += length
  }

  private mutating func fade(
    _ source: UnsafePointer<Float>, into target: UnsafeMutablePointer<Float>, _ length: Int
  ) {
    for index in 0..<length {
      target[index] += source[index] * level
      level -= fall
      if level <= 0 {
        self = Voice()
        return
      }
    }
    position += length
  }
}

/// The sixteen voices of one click port. Clicks are at least 7 ms apart, so sounds of 100 ms have enough
/// voices.
struct Voices: BitwiseCopyable {
  static let capacity: Int = 16
  /// The number of sounding voices at which the oldest voice fades, to make room.
  static let crowd: Int = 12

  private var slots = InlineArray<16, Voice>(repeating: Voice())
  /// All slots from this index on are silent. Most cycles lie between two clicks and look at no slot.
  private var used = 0

  var isSilent: Bool { used == 0 }

  mutating func oldestBank(_ present: UInt32) -> UInt32 {
    var oldest = present
    for index in 0..<used where slots[index].isSounding { oldest = min(oldest, slots[index].bank) }
    return oldest
  }

  mutating func fadeAll(frames: Float) {
    for index in 0..<used where slots[index].isSounding { slots[index].fade(frames: frames) }
  }

  /// Adds all sounding voices to a whole buffer.
  mutating func play(into buffer: AudioBuffer) {
    for index in 0..<used where slots[index].isSounding { slots[index].play(into: buffer, from: 0) }
    forgetSilent()
  }

  private mutating func forgetSilent() {
    while used > 0, !slots[used - 1].isSounding { used -= 1 }
  }

  /// Starts a voice at `frame` of this buffer.
  mutating func begin(_ sound: Sound, bank: UInt32, into buffer: AudioBuffer, at frame: Int, fade: Float) {
    var free = used
    var oldest = -1
    var sounding = 0
    for index in 0..<used {
      guard slots[index].isSounding else {
        free = min(free, index)
        continue
      }
      sounding += 1
      if slots[index].isFading { continue }
      if oldest < 0 || slots[index].played > slots[oldest].played { oldest = index }
    }
    if sounding >= Self.crowd && oldest >= 0 { slots[oldest].fade(frames: fade) }
    guard free < Self.capacity else { return }
    slots[free] = Voice(sound, bank: bank)
    slots[free].play(into: buffer, from: frame)
    used = max(used, free + 1)
    forgetSilent()
  }
}
