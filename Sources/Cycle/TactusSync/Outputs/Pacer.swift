// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// The boundaries (the places of clocks or pulses) for machines that count them. No boundary is left out and
/// none comes twice, even if time jumps.
///
/// When time moves forward over some boundaries, the skipped boundaries follow at twice the speed until the
/// pacer has caught up with the grid. When time moves back, the next boundary waits. A move of half a beat or
/// more begins a new count, and `open` returns true.
struct Pacer: BitwiseCopyable {
  private var ticker = Ticker()
  /// The number of frames from the first cycle to frame 0 of this buffer. `last` is the frame, in the same
  /// count, at which the last boundary was used.
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

  /// The time of the next boundary by the grid.
  func time(in window: Window) -> Double { ticker.time(in: window) }

  /// The exact place of the next boundary by the grid, in frames of this buffer.
  func exactPlace(in window: Window) -> Double { ticker.position(in: window) }

  /// The frame at which to use the next boundary; nil: the boundary belongs to a later buffer. Two boundaries
  /// are never closer together than half the spacing of the boundaries that the machines count.
  func frame(in window: Window) -> Int? {
    let frame = Window.nearest(place(in: window))
    return frame < window.frames ? frame : nil
  }

  /// The position at which to use the next boundary, in frames with a fraction. `frame` rounds it.
  func place(in window: Window) -> Double {
    max(-0.5, max(exactPlace(in: window), last - elapsed + spacing(in: window) * stride / 2))
  }

  /// The number of frames from one boundary to the next.
  func spacing(in window: Window) -> Double {
    let perBeat = Double(max(1, ticker.perBeat))
    return window.beatMicros(upTo: Double(ticker.next) / perBeat) / perBeat / window.line.frameMicros
  }

  /// Uses the next boundary at the frame that `frame` returned.
  mutating func use(in window: Window) {
    last = elapsed + place(in: window)
    ticker.pass()
  }

  /// Skips the next boundary, because no machine needs it.
  mutating func pass() {
    ticker.pass()
  }
}
