// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
public import TactusChoices

extension Report {
  /// The frame to which a stopped transport goes back; nil: the transport stays where it stands, or it moves.
  public func frame(of place: StopPlace) -> UInt32? {
    guard !isMoving else { return nil }
    let frame: UInt32? =
      switch place {
      case .here: nil
      case .bar: barFrame
      case .start: 0
      }
    return frame == moment.frame ? nil : frame
  }

  /// The first frame of the bar in which the transport stands; nil: the timebase master shows no usable bars.
  private var barFrame: UInt32? {
    if master.timebase == .foreign {
      let rate = Double(moment.sampleRate)
      guard master.foreignTempo > 0, let shown = master.shown, shown.ticksPerBeat > 0 else { return nil }
      let notes = Double(shown.beat) - 1 + Double(shown.tick) / shown.ticksPerBeat
      return UInt32(
        clamping: Int64(moment.frame)
          - Int64(rounding: notes / shown.notesPerBeat * 60 / master.foreignTempo * rate)
      )
    }
    guard tempo > 0 else { return nil }
    // A stop on a bar line may come a cycle before the line, and an exact start waits just before its bar
    // line.
    let near = ThirtySeconds.before(song.beat + 1.5 * moment.cycleMicros / moment.beatMicros)
    let (_, note, rest) = bars.place(of: near)
    let line = near - rest - note * bars.meter(at: near).note
    return frame(ofBeat: ThirtySeconds.beats(line))
  }

  /// The frame of a beat of the song at the session's tempo; nil: the tempo is unknown.
  func frame(ofBeat beat: Double) -> UInt32? {
    guard tempo > 0 else { return nil }
    return UInt32(clamping: Int64(rounding: max(0, beat) * 60 / tempo * Double(moment.sampleRate)))
  }
}
