// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

/// Linear timecode (SMPTE 12M) on an audio port: 80 bits a frame. The level changes at the beginning of each
/// bit, and in the middle of each 1.
///
/// The level depends only on the place in timecode: a bit of the standard makes the number of changes in a
/// frame even, so each frame begins with the same level. So a locate or a lost cycle needs no special
/// treatment.
struct LTC: BitwiseCopyable {
  /// The microseconds in which a change of level goes from 10 % to 90 % of its way.
  static let riseMicros: Double = 40

  /// The level of each half bit in the last frame that was encoded.
  private var halves = InlineArray<160, Bool>(repeating: false)
  private var encoded: (frame: Int64, rate: TimecodeRate)?

  /// Adds timecode to a silent buffer. Before the transport's frame 0 the buffer stays silent.
  mutating func render(
    into buffer: AudioBuffer, _ place: TimecodePlace, _ settings: TimecodeSettings, _ sampleRate: UInt32
  ) {
    guard let output = buffer.start else { return }
    let origin = Double(settings.start.frame(settings.rate))
    let halvesPerFrame = 160 * place.perFrame
    // The length of a whole change of level, in half bits. The change is linear and takes at most one half
    // bit.
    let way = min(1, Self.riseMicros / 0.8 * Double(sampleRate) / 1e6 * halvesPerFrame)
    for index in 0..<min(buffer.count, place.frames) {
      let here = place.place(atFrame: Double(index))
      guard here >= origin else { continue }
      output[index] = level(at: here, way: way, settings.rate) * settings.level
    }
  }

  /// Returns a level from -1 to 1.
  private mutating func level(at place: Double, way: Double, _ rate: TimecodeRate) -> Float {
    let half = place * 160
    let nearest = Int64(rounding: half)
    let away = half - Double(nearest)
    let before = isHigh(nearest &- 1, rate) ? 1.0 : -1
    let after = isHigh(nearest, rate) ? 1.0 : -1
    if abs(away) >= way / 2 { return Float(away < 0 ? before : after) }
    return Float(before + (after - before) * (away / way + 0.5))
  }

  private mutating func isHigh(_ half: Int64, _ rate: TimecodeRate) -> Bool {
    let frame = Ticker.floorDivide(half, 160)
    if encoded?.frame != frame || encoded?.rate != rate { encode(frame, rate) }
    return halves[Int(half &- frame &* 160)]
  }

  private mutating func encode(_ frame: Int64, _ rate: TimecodeRate) {
    encoded = (frame, rate)
    let bits = LTCBits(Timecode(frame: frame, rate), rate)
    var isHigh = false
    for bit in 0..<80 {
      isHigh.toggle()
      halves[2 * bit] = isHigh
      if bits[bit] { isHigh.toggle() }
      halves[2 * bit + 1] = isHigh
    }
  }
}

/// The 80 bits of a frame.
struct LTCBits: BitwiseCopyable {
  private static let syncWord: UInt64 = 0b1011_1111_1111_1100

  /// Bits 0 to 63 of the frame; bit 0 is the lowest bit of the number. The sync word follows these bits.
  private(set) var low: UInt64 = 0

  init(_ code: Timecode, _ rate: TimecodeRate) {
    put(code.frames, units: 0, tens: 8)
    put(code.seconds, units: 16, tens: 24)
    put(code.minutes, units: 32, tens: 40)
    put(code.hours, units: 48, tens: 56)
    if rate.isDrop { low |= 1 << 10 }
    // The number of ones in all 80 bits must be even; the sync word has 13.
    if low.nonzeroBitCount % 2 == 0 { low |= rate == .fps25 ? 1 << 59 : 1 << 27 }
  }

  private mutating func put(_ value: UInt8, units: UInt64, tens: UInt64) {
    low |= UInt64(value % 10) << units | UInt64(value / 10) << tens
  }

  subscript(bit: Int) -> Bool {
    bit < 64 ? low >> UInt64(bit) & 1 == 1 : Self.syncWord >> UInt64(bit - 64) & 1 == 1
  }
}
