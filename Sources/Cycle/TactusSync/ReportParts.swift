// SPDX-License-Identifier: GPL-2.0-or-later
import TactusChoices

// The parts of a `Report`. Each part is filled by one type on the audio thread.

/// The report on the song, filled by `Song`.
public struct SongReport: Sendable, BitwiseCopyable {
  public var isRolling = false
  /// Whether a launch waits for its beat.
  public var isWaiting = false
  /// The session's beat for which the launch waits.
  public var startBeat = Double.infinity
  /// The song's beat: 0 at the song's start, negative before that. While the transport does not roll, this is
  /// the beat at which it stands.
  public var beat = 0.0
  /// The microseconds by which a host (such as a DAW) that counts frames is behind the session; 0 while the
  /// transport does not roll, or while a host leads.
  public var hostLag = 0.0
  /// The number of jumps of the song's position: at a start, at a locate, or in another session.
  var run: UInt64 = 0
}

/// The report on the start that waits, and on the last start. `Launch` and `CutStarts` fill it.
public struct LaunchReport: Sendable, BitwiseCopyable {
  /// Whether a start is held, or was released while the transport does not roll yet.
  public var isHolding = false
  /// Whether we have stopped holding the start, because another client does not get ready. JACK alone then
  /// decides when the transport rolls.
  public var isGivenUp = false
  /// The microseconds by which the first frame of the last launch was heard later than the launch's beat.
  public var error = 0.0
  /// The number of launches that were moved to a later beat or bar because another client was not ready.
  public var moved: UInt64 = 0
  /// The microseconds that other slow-sync clients need to get ready for a start, by our measurements.
  public var othersTake = 0.0
  /// The locate that the audio thread wants. The control thread carries it out.
  public var action = LocateAction()
  /// The number of starts that JACK did not hold for as long as it should (`CutStarts`). `cutFrame` is the
  /// frame from which the last such start should have rolled.
  public var cutStarts: UInt64 = 0
  public var cutFrame: UInt32 = 0
  public var holdsBriefly = false
  var startsSuddenly = false
}

/// The report on the bar and beat that JACK's transport shows, filled by `TimebaseWatch`.
public struct MasterReport: Sendable, BitwiseCopyable {
  /// The owner of the bar and beat that the transport shows in this cycle. `shown` is the shown bar and beat.
  public var timebase = Timebase.none
  public var shown: BBT?
  /// The tempo of another client that is timebase master, in the session's beats a minute; 0: no other client
  /// is master, or the unit of the master's tempo is not known yet.
  public var foreignTempo = 0.0
  /// Whether the position that we wrote last as timebase master is missing, or has an old tempo or old bars.
  public var showsOther = true
  /// Whether the timebase master leads and shows bars that make no sense.
  public var isSenseless = false
}

/// The report on a sequencer's clock at the port `control`, while that sequencer leads, filled by `ClockIn`.
public struct ClockInReport: Sendable, BitwiseCopyable {
  public var state = ClockLoop.State.silent
  public var tempo = 0.0
  /// Whether the leading MIDI clock is our own clock, which comes back to us through a cable.
  public var isEcho = false
}

/// The report on the times of the cycles, filled by `CycleTimes`.
public struct TimesReport: Sendable, BitwiseCopyable {
  /// The number of cycles in which JACK did not call us.
  public var lostCycles: UInt64 = 0
  /// The number of cycles whose times came from our own filter, because JACK's filter had not yet recovered
  /// from a stall.
  public var bridgedCycles: UInt64 = 0
  /// The difference of the sound card's rate from its nominal rate by Link's clock, in parts per million.
  public var driftPPM = 0.0
}

/// The report on the outputs, filled by `StandardOutputs` and `OutputRack`.
public struct OutputReport: Sendable, BitwiseCopyable {
  /// The number of MIDI messages that were lost on their way out or at the port `control`, because there were
  /// too many at once, or because earlier messages had not been read yet.
  public var lostMIDI: UInt64 = 0
  /// The largest distance of a clock message from its exact time in the last ten to twenty seconds, in
  /// microseconds. `pulseJitter` is the same distance for pulses.
  public var clockJitter: Float = 0
  public var pulseJitter: Float = 0
  /// The lowest number of all sound banks that still sound.
  public var oldestBank: UInt32 = 0
}
