// SPDX-License-Identifier: GPL-2.0-or-later
import CTactusLTC

/// A timecode that is counted up frame by frame, to check the program's arithmetic independently.
public struct CountedTimecode: Equatable {
  public var (hours, minutes, seconds, frames) = (0, 0, 0, 0)

  public init() {}

  public mutating func count(of numbers: Int, drops: Bool) {
    frames += 1
    guard frames == numbers else { return }
    frames = 0
    seconds += 1
    guard seconds == 60 else { return }
    seconds = 0
    minutes += 1
    if drops, minutes % 10 != 0 { frames = 2 }
    guard minutes == 60 else { return }
    minutes = 0
    hours = (hours + 1) % 24
  }
}

/// libltc's decoder, which takes a stream of samples buffer by buffer.
public final class LTCReader {
  public struct Frame {
    public var code: CountedTimecode
    public var isDrop: Bool
    /// The index of the frame's first sample, counted in the whole stream.
    public var start: Int
  }

  private let decoder: OpaquePointer
  public private(set) var frames: [Frame] = []
  private var position: ltc_off_t = 0

  public init(samplesPerFrame: Int) { decoder = ltc_decoder_create(Int32(samplesPerFrame), 32) }

  deinit { ltc_decoder_free(decoder) }

  public func read(_ samples: UnsafeMutableBufferPointer<Float>) {
    ltc_decoder_write_float(decoder, samples.baseAddress, samples.count, position)
    position += ltc_off_t(samples.count)
    var found = LTCFrameExt()
    while ltc_decoder_read(decoder, &found) > 0 {
      var time = SMPTETimecode()
      ltc_frame_to_time(&time, &found.ltc, 0)
      var code = CountedTimecode()
      (code.hours, code.minutes, code.seconds, code.frames) =
        (Int(time.hours), Int(time.mins), Int(time.secs), Int(time.frame))
      frames.append(Frame(code: code, isDrop: found.ltc.dfbit != 0, start: Int(found.off_start)))
    }
  }
}

/// The first of these samples that differs from `level`. Optimised, because it searches days of audio.
public func firstChange(
  _ samples: UnsafePointer<Float>, from start: Int, to end: Int, of level: Float
) -> Int? {
  var index = start
  while index < end {
    if samples[index] != level { return index }
    index += 1
  }
  return nil
}
