// SPDX-License-Identifier: GPL-2.0-or-later
import TactusSync

/// Judges an export of a song. In an export the transport rolls from some frame while the server runs as fast
/// as it can. An export has no other time than its frames, so the clicks are judged only by their frames and
/// by the tempo at the export's beginning.
struct Export {
  /// The number of frames per beat.
  private let beat: Double
  /// The song's present frame, beyond 32 bits.
  private(set) var place: Double
  private var next: Double?
  private(set) var clicks = 0
  private(set) var complaints = Complaints()

  init(beatMicros: Double, sampleRate: UInt32, from frame: UInt32) {
    beat = beatMicros * Double(sampleRate) / 1e6
    place = Double(frame)
  }

  /// Judges a click; `frame` is the frame of this cycle at which it is heard.
  mutating func listen(at frame: Double, _ time: Double) {
    clicks += 1
    let number = ((place + frame) / beat).rounded()
    let away = place + frame - number * beat
    if abs(away) > 1 { complaints.add(.export, at: time, "a click \(Int(away)) frames beside its beat") }
    if let next, number != next {
      complaints.add(.export, at: time, "beat \(Int(number)) instead of \(Int(next))")
    }
    next = number + 1
  }

  /// Judges the bar and beat that the timebase master shows for the next cycle.
  mutating func see(_ shown: BBT?, beatsPerMinute: Double, after frames: UInt32, _ time: Double) {
    place += Double(frames)
    guard let shown, let beats = shown.beats else {
      return complaints.add(.export, at: time, "no bar is shown")
    }
    // The tick is rounded down, so compare with its middle.
    let ticks = (beats - place / beat) * shown.ticksPerBeat
    if abs(ticks) > 1.1 {
      complaints.add(.export, at: time, "the bar that is shown is \(Int(ticks)) ticks off")
    }
    if abs(shown.beatsPerMinute - beatsPerMinute) > 1e-6 {
      complaints.add(.export, at: time, "\(shown.beatsPerMinute) BPM are shown")
    }
  }
}

/// A model of a DAW that counts frames beside a session that does not change. The DAW's lag is the time that
/// has passed, less the time of the frames that the DAW has played.
struct FrameCounter {
  private var began: (due: Double, lag: Double)?
  private var frames = 0.0
  private(set) var hours = 0.0
  private(set) var complaints = Complaints()

  /// Counts one rolling cycle. `lag`: HostSync's figure in microseconds; nil: the cycle's time is in doubt.
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
