// SPDX-License-Identifier: GPL-2.0-or-later
import HostSync

/// Somebody exports a song: the transport rolls from a place of his choice while the server runs as fast as it can. What is
/// exported has no time but its frames, so it is judged by those and the tempo at the beginning, and by nothing else.
struct Export {
  /// Frames of a beat.
  private let beat: Double
  /// The song's frame now, counted beyond 32 bits.
  private(set) var place: Double
  private var next: Double?
  private(set) var clicks = 0
  private(set) var complaints = Complaints()

  init(beatMicros: Double, sampleRate: UInt32, from frame: UInt32) {
    beat = beatMicros * Double(sampleRate) / 1e6
    place = Double(frame)
  }

  /// A click at a frame of this cycle, as the song's frames count that are heard with it.
  mutating func hear(at frame: Double, _ time: Double) {
    clicks += 1
    let number = ((place + frame) / beat).rounded()
    let away = place + frame - number * beat
    if abs(away) > 1 { complaints.add(.export, at: time, "a click \(Int(away)) frames beside its beat") }
    if let next, number != next {
      complaints.add(.export, at: time, "beat \(Int(number)) instead of \(Int(next))")
    }
    next = number + 1
  }

  /// What a timebase master shows for the next cycle.
  mutating func see(_ shown: BBT?, beatsPerMinute: Double, after frames: UInt32, _ time: Double) {
    place += Double(frames)
    guard let shown, let beats = shown.beats else {
      return complaints.add(.export, at: time, "no bar is shown")
    }
    // Cut off to a tick, and read in its middle.
    let ticks = (beats - place / beat) * shown.ticksPerBeat
    if abs(ticks) > 1.1 {
      complaints.add(.export, at: time, "the bar that is shown is \(Int(ticks)) ticks off")
    }
    if abs(shown.beatsPerMinute - beatsPerMinute) > 1e-6 {
      complaints.add(.export, at: time, "\(shown.beatsPerMinute) BPM are shown")
    }
  }
}

/// A DAW that counts frames against a session that nobody touches: what it lags is time passed less frames played.
struct FrameCounter {
  private var began: (due: Double, lag: Double)?
  private var frames = 0.0
  private(set) var hours = 0.0
  private(set) var complaints = Complaints()

  /// One rolling cycle; `lag` is what HostSync tells of it, in microseconds; nil: time is in doubt.
  mutating func count(_ cycle: UInt32, sampleRate: UInt32, due: Double, lag: Double?) {
    guard let start = began else {
      if let lag { (began, frames) = ((due, lag), Double(cycle)) }
      return
    }
    let expected = due - start.due - frames * 1e6 / Double(sampleRate)
    frames += Double(cycle)
    hours = frames / Double(sampleRate) / 3600
    guard let lag else { return }
    if abs(lag - start.lag - expected) > 3_000 {
      let text =
        "\(Int(lag - start.lag)) us are told, \(Int(expected)) are true, after \(Int(hours * 60)) minutes"
      complaints.add(.lag, at: due, text)
    }
  }
}
