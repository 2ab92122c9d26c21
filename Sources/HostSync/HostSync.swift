// SPDX-License-Identifier: GPL-2.0-or-later

// HostSync: everything that is decided inside one audio cycle.
//
// A `Cycle` says what JACK, the session and the user's settings are now; `run` fills `Outputs`: the click, the
// pulse and the run gate, a list of MIDI events, and a report. Every part asks the same question, each for its
// own port: which beat is heard when this frame reaches the speaker?
//
// It lacks, on purpose: JACK, sockets, a clock, threads, files, memory of its own. Audio buffers and sounds are
// given to it, so that a test plays it an hour in seconds.
//
// One invariant: beats are numbered, and what was played is remembered by number. Nothing accumulates ticks or
// multiplies tempo by frames, so nothing drifts, and no correction of time plays a beat twice or not at all.
//
// Way in: `HostSync.run`, then `CycleTimes` (which time is frame 0?), `Song` (which beat?), `Ticker` (which
// boundaries fall into this buffer?), `ClickVoice` and `MIDIClock` (what is done there). All [audio].

/// The state that lasts from one cycle to the next. The audio thread owns it while the client is active.
public struct HostSync: ~Copyable {
  /// `sampleRate` is what the server runs at; a change of it means a new `HostSync`.
  @_noLocks @_noAllocation
  public init() {}

  /// Decides one cycle. [audio]
  @_noLocks @_noAllocation
  public mutating func run(_ cycle: borrowing Cycle, into outputs: inout Outputs) {
    outputs.clear(frames: cycle.frames)
  }
}
