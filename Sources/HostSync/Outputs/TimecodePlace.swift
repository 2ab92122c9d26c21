// SPDX-License-Identifier: GPL-2.0-or-later
import Choices

/// Where a port's buffer lies in timecode: the transport's position that is heard through it, in frames of timecode with their
/// fraction. The transport's frame of this cycle is what is heard now through the physical outputs.
struct TimecodePlace: BitwiseCopyable {
  /// At frame 0 of the buffer.
  let start: Double
  /// The transport's own: where it stands it is, whenever that is heard.
  let transport: Double
  /// From one frame of the buffer to the next.
  let perFrame: Double
  /// The timecode at the transport's frame 0. Timecode sends nothing before it.
  let beginning: Double
  let frames: Int

  init(
    transportFrame: UInt32, heard: FrameLine, window: Window, sampleRate: UInt32, _ settings: TimecodeSettings
  ) {
    perFrame = settings.rate.framesPerSecond / Double(max(1, sampleRate))
    // How much later than through them frame 0 is heard through this port.
    let ahead = (window.line.start - heard.start) / window.line.frameMicros
    beginning = Double(settings.start.frame(settings.rate))
    start = (Double(transportFrame) + ahead) * perFrame + beginning
    transport = Double(transportFrame) * perFrame + beginning
    frames = window.frames
  }

  func place(atFrame frame: Double) -> Double { start + frame * perFrame }
}
