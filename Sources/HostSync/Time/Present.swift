// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices

/// Of a cycle what the user's own outputs go by: the small part of its `Now` that up to 32 of them ask for, one after the other.
struct Present: BitwiseCopyable {
  let sampleRate: UInt32
  let transportFrame: UInt32
  let meter, standingMeter: Meter
  let isFreewheeling: Bool
  let isRolling: Bool
  let frameMicros: Double
  /// When the cycle's frames are heard through the physical outputs.
  let heard: FrameLine
  /// The cycle as it passes through JACK: that of a port without latency and offset.
  let window: Window
  /// By how many microseconds the outputs are ahead of the session, bent by hand.
  let ahead: Double
  /// Frames since the cycle before.
  let passed: Int64

  init(_ now: borrowing Now, window: Window, ahead: Double, passed: Int64) {
    sampleRate = now.sampleRate
    transportFrame = now.transport.frame
    meter = now.settings.meter
    standingMeter = now.settings.standingMeter
    isFreewheeling = now.isFreewheeling
    isRolling = now.isRolling
    frameMicros = now.frameMicros
    heard = now.heard
    self.window = window
    self.ahead = ahead
    self.passed = passed
  }

  /// As `Now.heard(through:_:)`. Timecode is the transport's, which nobody bends.
  @inline(__always)
  func window(of output: borrowing OutputSlot) -> Window {
    if isFreewheeling { return window.moved(to: heard) }
    let delay = Double(output.latency) * frameMicros + Double(output.settings.offset.count)
    let bent = output.settings.kind.isTimecode ? 0 : ahead
    return window.moved(to: window.line.delayed(by: delay).delayed(by: bent))
  }
}
