// SPDX-License-Identifier: GPL-2.0-or-later
internal import BeatMath

/// How soon an audio thread may have committed something that nobody has taken.
package enum CommitPace: Sendable {
  /// It runs, and may at any moment.
  case soon
  /// It does not run, and may begin to without a word.
  case late
  /// Whoever knows more calls Link (`Link.look`) when it does.
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
