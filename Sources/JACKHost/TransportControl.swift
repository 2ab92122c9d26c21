// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath
import Choices
import HostSync

/// What we ask of the server's transport: the user's commands, what waits for its moment, and what the audio thread
/// cannot ask for itself. [control]
struct TransportControl {
  var relocator = Relocator()

  mutating func command(
    _ command: TransportCommand, on running: RunningClient, _ report: Report, sampleRate: Int
  ) {
    let wasStopping = relocator.isStopping
    relocator.cancel()
    switch command {
    case .stopOn(let bar) where report.isRolling && !wasStopping:
      relocator.stop(onBar: bar, from: report)
    case .jump(let frame, let beat, let step) where report.isRolling && report.timebase == .ours:
      relocator.locate(frame: frame, beat: beat, step: step, from: report)
    case .locate(let frame), .jump(let frame, _, _):
      locate(frame, on: running, report, sampleRate: sampleRate)
    case .play where relocator.start(from: report): break
    case .play, .stop, .stopOn: Question.ask { running.command(command) }
    }
  }

  mutating func step(on running: RunningClient, _ report: Report, sampleRate: Int, at now: Micros) {
    running.fulfil(
      report.wish, showing: report.timebase == .ours ? bbt(of: Beats(report.wish.place.beat), report) : nil)
    switch relocator.step(report, at: now) {
    case .nothing: break
    case .locate(let frame): locate(frame, on: running, report, sampleRate: sampleRate)
    case .stop: running.command(.stop)
    case .start: running.command(.play)
    case .relocate(let relocation):
      running.relocate(relocation, showing: bbt(of: Beats(relocation.place.beat), report))
    }
  }

  /// Another master knows its bars better than we do.
  private func locate(_ frame: UInt32, on running: RunningClient, _ report: Report, sampleRate: Int) {
    let seconds = Double(frame) / Double(max(1, sampleRate))
    let there = bbt(of: Beats(seconds * report.tempo / 60), report)
    Question.ask { running.locate(frame, showing: report.timebase == .foreign ? nil : there) }
  }

  /// How we show a place in the song.
  private func bbt(of beat: Beats, _ report: Report) -> BBT {
    BBT(song: beat, meter: relocator.choices.meter, beatsPerMinute: report.tempo)
  }
}
