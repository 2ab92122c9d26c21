// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// The times at which Start, Stop and Continue last left through any of our clock outputs. A machine that is
/// connected both ways sends them back to `control`, by its soft thru, or because it sends its own transport
/// while it follows. Such an echo is no command: Stop, position and Continue go out at each locate, and the
/// returned Stop would end the song.
struct SentCommands: BitwiseCopyable {
  /// Microseconds of Link's clock.
  private var stop = -Double.infinity
  private var start = -Double.infinity

  @inline(__always)
  mutating func note(_ events: inout MIDIEvents, _ line: FrameLine) {
    for index in 0..<events.count {
      switch events[index].status {
      case MIDI.stop: stop = max(stop, line.time(atFrame: Double(events[index].frame)))
      case MIDI.start, MIDI.resume: start = max(start, line.time(atFrame: Double(events[index].frame)))
      default: break
      }
    }
  }

  /// Returns whether a received command is one of ours: it comes no later after ours than an echo can.
  func isEcho(_ status: UInt8, at time: Double) -> Bool {
    let sent: Double
    switch status {
    case MIDI.stop: sent = stop
    case MIDI.start, MIDI.resume: sent = start
    default: return false
    }
    return time - sent >= EchoWatch.soonest && time - sent <= EchoWatch.longestWay
  }
}
