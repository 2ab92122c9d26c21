// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices

/// Rectangular pulses on an audio port, for modular gear and DIN-sync boxes: 5 ms, or less where they come close.
struct Pulse: BitwiseCopyable {
  private var pacer = Pacer()
  /// Frames of the last pulse that did not fit into its buffer.
  private var remaining = 0

  mutating func render(
    into buffer: AudioBuffer, window: Window, song: Song, settings: Settings, passed: Int64,
    sampleRate: UInt32
  ) {
    buffer.fill(0..<remaining, with: 1)
    remaining = max(0, remaining - window.frames)
    guard settings.pulse.isOn else { return }
    let rate = settings.pulse.rate.perBeat
    let perBeat = rate ?? 1
    _ = pacer.open(window, perBeat: perBeat, passed: passed)
    // Two fifths, so that pulses that are catching up still have a gap between them.
    let width = max(1, min(0.005 * Double(sampleRate), 0.4 * pacer.spacing(in: window)))
    for _ in 0..<Ticker.limit {
      guard let frame = pacer.frame(in: window) else { return }
      let beat = Double(pacer.next) / Double(perBeat)
      let isInSong = song.contains(beat: beat, time: window.grid.time(of: beat))
      let origin = isInSong || song.isWaiting ? song.origin : 0
      let isWanted =
        (isInSong || settings.pulse.when == .always)
        && (rate != nil || Ticker.floorRemainder(pacer.next &- origin, settings.meter.beats) == 0)
      guard isWanted else {
        pacer.pass()
        continue
      }
      pacer.use(in: window)
      let end = frame + Int(Int64(rounding: width))
      buffer.fill(frame..<end, with: 1)
      remaining = max(0, end - window.frames)
    }
  }
}

/// High while the song plays, as heard through its own port.
enum RunGate {
  static func render(into buffer: AudioBuffer, window: Window, song: Song) {
    let frames = Int64(window.frames)
    let start = clamp(window.frame(of: song.startBeat), frames)
    switch song.phase {
    case .rolling, .waiting:
      buffer.fill(start..<window.frames, with: 1)
    case .stopped:
      let stop = clamp(window.line.frame(at: song.stopTime), frames)
      if start < stop { buffer.fill(start..<stop, with: 1) }
    }
  }

  private static func clamp(_ place: Double, _ frames: Int64) -> Int {
    Int(min(frames, max(0, Int64(flooring: place + 0.5))))
  }
}
