// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// Boundaries for machines that count them: none is left out and none comes twice, whatever time does.
///
/// When time moves forward over some boundaries, they follow at twice the speed until they have caught up
/// with the grid. When it moves back, the next one waits. A move of half a beat or more begins a new count,
/// and `open` returns true.
struct Pacer: BitwiseCopyable {
  private var ticker = Ticker()
  /// Frames from the beginning to frame 0 of this buffer, and to the last boundary that was used.
  private var elapsed = 0.0
  private var last = -Double.infinity
  /// The machines count every `stride`-th boundary.
  private var stride = 1.0

  /// The number of the next boundary.
  var next: Int64 { ticker.next }

  mutating func open(_ window: Window, perBeat: Int64, _ missed: SkippedCycles, stride: Int64 = 1) -> Bool {
    elapsed += Double(missed.frames)
    self.stride = Double(stride)
    return ticker.open(window, perBeat: perBeat, missed)
  }

  /// The time of the next boundary, by the grid.
  func time(in window: Window) -> Double { ticker.time(in: window) }

  /// The exact place of the next boundary, in frames.
  func exactPlace(in window: Window) -> Double { ticker.position(in: window) }

  /// The frame at which to use the next boundary: never closer to the last one than half the distance of
  /// those that the machines count. nil: it belongs to a later buffer.
  func frame(in window: Window) -> Int? {
    let frame = Window.nearest(place(in: window))
    return frame < window.frames ? frame : nil
  }

  /// The same place with its fraction.
  func place(in window: Window) -> Double {
    max(-0.5, max(exactPlace(in: window), last - elapsed + spacing(in: window) * stride / 2))
  }

  /// Frames from one boundary to the next.
  func spacing(in window: Window) -> Double {
    let perBeat = Double(max(1, ticker.perBeat))
    return window.grid.beatMicros(upTo: Double(ticker.next) / perBeat) / perBeat / window.line.frameMicros
  }

  /// Uses the next boundary at the frame that `frame` returned.
  mutating func use(in window: Window) {
    last = elapsed + place(in: window)
    ticker.pass()
  }

  /// Skips the next boundary, because no receiver needs it.
  mutating func pass() {
    ticker.pass()
  }
}
