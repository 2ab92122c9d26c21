// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import TactusChoices

/// A meter that waits for its beat, which is a bar line. Outputs and JACK's clients get the new bars from
/// that bar line on, although the control surface carries out the change shortly after the line.
struct QueuedMeter: BitwiseCopyable {
  /// The queued change, which is kept until it is carried out or taken back.
  private var change: QueuedChange?
  private var isWaiting = false

  mutating func follow(_ now: borrowing CycleContext) {
    isWaiting = false
    if let queued = now.queued, case .some = queued.meter {
      change = queued
      isWaiting = true
    } else if let known = change, !known.isOf(now.settings.meter) {
      change = nil
    }
  }

  /// The session's beat that `meter` waited for, or `present` if it did not wait.
  func beat(of meter: Meter, or present: Double) -> Double {
    guard let change, change.isOf(meter) else { return present }
    return change.beat.value
  }

  /// Returns the bars of a song that plays, with the waiting change in them.
  func bars(_ bars: Bars, of song: Song) -> Bars {
    guard isWaiting, song.isRolling, let change, let meter = change.meter else { return bars }
    var bars = bars
    bars.change(to: meter, at: song.songBeat(of: change.beat.value))
    return bars
  }
}
