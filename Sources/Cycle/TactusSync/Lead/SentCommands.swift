// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// The times at which Start, Stop and Continue last left through any of our MIDI clock outputs. A machine
/// that is connected both ways sends these messages back to the port `control`, by its soft thru, or because
/// it sends its own transport while it follows ours. Such an echo must not count as a command: at each locate
/// we send Stop, position and Continue, and the returned Stop would end the song.
struct SentCommands: BitwiseCopyable {
  /// The time at which Stop was last sent, in microseconds of Link's clock. `start` is the time at which
  /// Start or Continue was last sent.
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

  /// Returns whether a received command is an echo of our own: we sent the same command at most
  /// `EchoWatch.longestWay` microseconds before.
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
