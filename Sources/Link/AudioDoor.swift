// SPDX-License-Identifier: GPL-2.0-or-later
package import BeatMath
package import LinkSession

/// A part of the program with an audio thread of its own, which takes part in the session by its own handoffs: it
/// need not know this module. `Link.attach` connects the two.
///
/// Both calls come from whichever thread works on the session, one at a time, with Link's lock held: they must be
/// short and must not call Link. What crosses to the audio thread from here is `Handoff`'s business.
package protocol AudioDoor: AnyObject, Sendable {
  /// The newest state. `snapshot.audioSequence` is the last of this door's changes that it has in it.
  func publish(_ snapshot: SessionSnapshot)
  /// The oldest change that the audio thread committed and nobody took yet (see `BeatMath.AudioSession`).
  func nextChange() -> SessionChange?
  /// Asked before each wait of Link's thread. After a change for the sooner it is woken by `Link.look`.
  var pace: CommitPace { get }
}
