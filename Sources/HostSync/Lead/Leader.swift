// SPDX-License-Identifier: GPL-2.0-or-later
import BeatMath

/// The song of a sequencer that leads, for a start that came with the sequencer's own.
///
/// Its Start is its first beat, and JACK's transport cannot roll on that any more: it would wait for the next bar and be a
/// bar behind the sequencer for the whole song. So it is sent to where the sequencer will be at its next beat, and rolls
/// there.
enum Leader: BitwiseCopyable {
  case none
  /// It was started, and the session's grid is about to become its own: what is a beat is not known yet.
  case unsettled
  /// Its song began on this beat of the session; JACK's transport counts so many frames a beat.
  case playing(origin: Beats, framesPerBeat: Double)
}
