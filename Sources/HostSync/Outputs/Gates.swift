// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices

/// Rectangular pulses on an audio port, for modular gear and sync boxes.
struct Pulse: BitwiseCopyable {
  private var pacer = Pacer()
  /// Frames of the last pulse that did not fit into its buffer.
  private var remaining = 0
  private var followedRun: UInt64 = 0
  /// Where the song starts, if that is to be marked and was not yet.
  private var mark: Double?

  /// `marksStart`: a pulse at the song's start, too, wherever that is.
  mutating func render(
    into buffer: AudioBuffer, window: Window, song: Song, gate: GateSettings, beatsPerBar: Int64,
    marksStart: Bool = false, passed: Int64, sampleRate: UInt32
  ) {
    let rest = gate.isInverted ? gate.level : 0
    if rest != 0 { buffer.fill(0..<window.frames, with: rest) }
    fill(0, remaining, of: buffer, window, gate)
    guard gate.isOn else { return }
    let perBeat = Int64(max(1, gate.rate.count))
    let span = Int64(max(1, gate.rate.span)) &* (gate.rate.isInBars ? beatsPerBar : 1)
    _ = pacer.open(window, perBeat: perBeat, passed: passed)
    // Two fifths, so that pulses that are catching up still have a gap between them.
    let spacing = pacer.spacing(in: window) * Double(span)
    let wanted = Double(gate.width.count) / 1e6 * Double(sampleRate)
    let width = Int(Int64(rounding: max(1, min(wanted, 0.4 * spacing))))
    if marksStart { markStart(into: buffer, window, song, gate, width: width) }
    guard gate.rate.count > 0 else { return }
    for _ in 0..<Ticker.limit {
      guard let frame = pacer.frame(in: window) else { return }
      let beat = Double(pacer.next) / Double(perBeat)
      let isInSong = song.contains(beat: beat, time: window.grid.time(of: beat))
      let origin = isInSong || song.isWaiting ? song.origin : 0
      let isWanted =
        (isInSong || gate.when == .always)
        && Ticker.floorRemainder(pacer.next &- origin &* perBeat, span) == 0
      guard isWanted else {
        pacer.pass()
        continue
      }
      pacer.use(in: window)
      fill(frame, width, of: buffer, window, gate)
    }
  }

  private mutating func markStart(
    into buffer: AudioBuffer, _ window: Window, _ song: Song, _ gate: GateSettings, width: Int
  ) {
    if song.run != followedRun {
      followedRun = song.run
      mark = song.isRolling || song.isWaiting ? song.startBeat : nil
    }
    guard let start = mark else { return }
    let frame = Window.nearest(window.frame(of: start))
    guard frame < window.frames else { return }
    mark = nil
    fill(frame, width, of: buffer, window, gate)
  }

  private mutating func fill(
    _ first: Int, _ count: Int, of buffer: AudioBuffer, _ window: Window, _ gate: GateSettings
  ) {
    buffer.fill(first..<first + count, with: gate.isInverted ? 0 : gate.level)
    remaining = max(0, first + count - window.frames)
  }
}

/// High while the song plays, as heard through its own port.
enum RunGate {
  static func render(
    into buffer: AudioBuffer, window: Window, song: Song, gate: GateSettings = GateSettings()
  ) {
    if gate.isInverted { buffer.fill(0..<window.frames, with: gate.level) }
    let high = gate.isInverted ? 0 : gate.level
    let frames = Int64(window.frames)
    let start = clamp(window.frame(of: song.startBeat), frames)
    switch song.phase {
    case .rolling, .waiting:
      buffer.fill(start..<window.frames, with: high)
    case .stopped:
      let stop = clamp(window.line.frame(at: song.stopTime), frames)
      if start < stop { buffer.fill(start..<stop, with: high) }
    }
  }

  private static func clamp(_ place: Double, _ frames: Int64) -> Int {
    Int(min(frames, max(0, Int64(flooring: place + 0.5))))
  }
}
