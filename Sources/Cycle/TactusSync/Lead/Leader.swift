// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath

/// The song of a leading sequencer, for a start of JACK's transport that came with the sequencer's own Start.
///
/// A sequencer's Start is the song's first beat. JACK's transport cannot roll in time for that beat. If it
/// waited for the next bar, it would stay a bar behind the sequencer for the whole song. So the transport is
/// sent to the place of the sequencer's next beat, and rolls from that place.
enum Leader: BitwiseCopyable {
  case none
  /// The sequencer was started, and the session's grid is about to move to the sequencer's beats. The moved
  /// beats are not known yet.
  case unsettled
  /// The sequencer's song began on beat `origin` of the session. A beat takes `framesPerBeat` frames of
  /// JACK's transport.
  case playing(origin: Beats, framesPerBeat: Double)
}
