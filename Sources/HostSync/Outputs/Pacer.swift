// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// Boundaries for machines that count them: none is left out and none comes twice, whatever time does.
///
/// When time moved forward over some, they follow at twice the speed until the grid is caught up with; when it
/// moved back, the next one waits. Moves of half a beat or more begin a new count, which the caller is told.
struct Pacer: BitwiseCopyable {
  private var ticker = Ticker()
  /// Frames since the beginning to frame 0 of this buffer, and to the last boundary that was used.
  private var elapsed = 0.0
  private var last = -Double.infinity
  /// Of so many boundaries the machines count one.
  private var stride = 1.0

  /// The next boundary.
  var next: Int64 { ticker.next }

  mutating func open(_ window: Window, perBeat: Int64, _ missed: Missed, stride: Int64 = 1) -> Bool {
    elapsed += Double(missed.frames)
    self.stride = Double(stride)
    return ticker.open(window, perBeat: perBeat, missed)
  }

  /// When the next boundary is, by the grid.
  func time(in window: Window) -> Double { ticker.time(in: window) }

  /// The exact place of the next boundary, in frames.
  func exactPlace(in window: Window) -> Double { ticker.position(in: window) }

  /// The frame for the next boundary if it is used: never closer to the last one than half the distance of those that are counted.
  /// Nil if it belongs to a later buffer.
  func frame(in window: Window) -> Int? {
    let frame = Window.nearest(place(in: window))
    return frame < window.frames ? frame : nil
  }

  /// The same with its fraction.
  func place(in window: Window) -> Double {
    max(-0.5, max(exactPlace(in: window), last - elapsed + spacing(in: window) * stride / 2))
  }

  /// Frames from one boundary to the next.
  func spacing(in window: Window) -> Double {
    let perBeat = Double(max(1, ticker.perBeat))
    return window.grid.beatMicros(upTo: Double(ticker.next) / perBeat) / perBeat / window.line.frameMicros
  }

  /// The next boundary is used, at the frame that was given.
  mutating func use(in window: Window) {
    last = elapsed + place(in: window)
    ticker.pass()
  }

  /// The next boundary is passed over: nobody listens.
  mutating func pass() {
    ticker.pass()
  }
}
