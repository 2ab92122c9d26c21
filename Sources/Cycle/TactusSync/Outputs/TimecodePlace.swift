// SPDX-License-Identifier: GPL-2.0-or-later
import TactusChoices

/// The place of a port's buffer in timecode: the transport's position that is heard through the port, in
/// frames of timecode with their fraction. Through the physical outputs, the transport's frame of this cycle
/// is heard at the buffer's frame 0.
struct TimecodePlace: BitwiseCopyable {
  /// The place at frame 0 of the buffer.
  let start: Double
  /// The place of the transport itself. A standing transport counts as being at this place, whatever the
  /// port's latency.
  let transport: Double
  /// The timecode frames from one frame of the buffer to the next.
  let perFrame: Double
  /// The timecode at the transport's frame 0, before which no timecode is sent.
  let beginning: Double
  let frames: Int

  init(
    transportFrame: UInt32, heard: FrameLine, window: Window, sampleRate: UInt32, _ settings: TimecodeSettings
  ) {
    perFrame = settings.rate.framesPerSecond / Double(max(1, sampleRate))
    // The number of frames by which frame 0 is heard later through this port than through the physical
    // outputs.
    let ahead = (window.line.start - heard.start) / window.line.frameMicros
    beginning = Double(settings.start.frame(settings.rate))
    start = (Double(transportFrame) + ahead) * perFrame + beginning
    transport = Double(transportFrame) * perFrame + beginning
    frames = window.frames
  }

  func place(atFrame frame: Double) -> Double { start + frame * perFrame }
}
