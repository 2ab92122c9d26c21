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

/// How soon an audio thread may have committed something that nobody has taken.
package enum CommitPace: Sendable {
  /// It runs, and may at any moment.
  case soon
  /// It does not run, and may begin to without a word.
  case late
  /// Another thread knows, and calls Link (`Link.look`) when it does.
  case never
}

/// When Link's thread looks for what audio threads have committed. They can't wake it: that would be a system call.
struct CommitLook {
  private var lastSeen: Micros?

  /// An audio thread runs if it was seen within this: longer than any buffer lasts.
  static var memory: Micros { Micros(500_000) }

  /// The next look; nil: none, until something else happens.
  mutating func next(_ paces: some Collection<CommitPace>, hasPeers: Bool, at now: Micros) -> Micros? {
    if paces.contains(.soon) { lastSeen = now }
    guard paces.contains(where: { $0 != .never }) else { return nil }
    guard let lastSeen, now - lastSeen < Self.memory else { return now + Micros(100_000) }
    return now + Micros(hasPeers ? 5_000 : 20_000)
  }
}
