// SPDX-License-Identifier: GPL-2.0-or-later
import LinkBeatMath
import Testing

@testable import Link

/// Tests how often Link's thread wakes to check for commits of an audio thread, which cannot wake it. The
/// time is simulated.
struct CommitLookTests {
  /// How often Link's thread checks for commits in a second, and the interval; `pace` gives the pace at a
  /// millisecond.
  private func looks(
    hasPeers: Bool, doors: Int = 1, _ pace: (Int64) -> CommitPace
  ) -> (count: Int, gap: Int64) {
    var look = CommitLook()
    var now = Micros(7)
    var count = 0
    var gap: Int64 = 0
    while let next = look.next(
      Array(repeating: pace(now.count / 1000), count: doors), hasPeers: hasPeers, at: now),
      next.count <= 1_000_007
    {
      gap = max(gap, (next - now).count)
      now = next
      count += 1
    }
    return (count, gap)
  }

  @Test
  func `with peers, commits of a running audio thread are taken every 5 ms`() {
    #expect(looks(hasPeers: true) { _ in .soon } == (200, 5_000))
    #expect(looks(hasPeers: false, doors: 2) { _ in .soon } == (50, 20_000))
  }

  @Test func `an idle audio thread is checked for commits ten times a second`() {
    #expect(looks(hasPeers: true) { _ in .late } == (10, 100_000))
  }

  @Test func `Link's thread does not wake if no audio thread can commit`() {
    #expect(looks(hasPeers: true, doors: 3) { _ in .never } == (0, 0))
    #expect(looks(hasPeers: true, doors: 0) { _ in .soon } == (0, 0))
  }

  @Test func `an audio thread still counts as running between two long buffers`() {
    // 8192 frames at 22050 Hz: a capture every 372 ms.
    let found = looks(hasPeers: true) { $0 % 372 < 6 ? .soon : .late }
    #expect(found == (200, 5_000))
  }
}
