// SPDX-License-Identifier: GPL-2.0-or-later
package import LinkBeatMath
package import LinkSession

/// A part of the program that has an audio thread and handoffs of its own and takes part in the session.
/// `Link.attach` connects it.
///
/// Any thread that works on the session may call these functions, one thread at a time, with Link's lock
/// held. So they must be short and must not call Link. The types of `LinkHandoff` bring the values to the
/// audio thread.
package protocol SessionObserver: AnyObject, Sendable {
  /// Receives the newest state. `snapshot.audioSequence` is the number of this part's last change that the
  /// state contains.
  func publish(_ snapshot: SessionSnapshot)
  /// The oldest change that the audio thread committed and that was not taken yet (see
  /// `LinkBeatMath.AudioSession`).
  func nextChange() -> SessionChange?
  /// The present pace, which Link's thread reads before each wait. After a change to a sooner pace, call
  /// `Link.wake`.
  var pace: CommitPace { get }
}

/// How soon an audio thread may commit a change.
package enum CommitPace: Sendable {
  /// The audio thread runs and may commit at any time.
  case soon
  /// The audio thread does not run, and may start without notice.
  case late
  /// Another thread will call `Link.wake` after a commit.
  case never
}

/// Plans when Link's thread checks for commits of audio threads. Audio threads cannot wake Link's thread,
/// because that would be a system call.
struct CommitLook {
  private var lastSeen: Micros?

  /// The time for which an audio thread counts as running after its last capture. It is longer than any
  /// buffer.
  static var memory: Micros { Micros(500_000) }

  /// The time at which Link's thread next checks for commits; nil if it need not.
  mutating func next(_ paces: some Collection<CommitPace>, hasPeers: Bool, at now: Micros) -> Micros? {
    if paces.contains(.soon) { lastSeen = now }
    guard paces.contains(where: { $0 != .never }) else { return nil }
    guard let lastSeen, now - lastSeen < Self.memory else { return now + Micros(100_000) }
    return now + Micros(hasPeers ? 5_000 : 20_000)
  }
}
