// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

private let hasLooper = access("/usr/bin/sooperlooper", X_OK) == 0

/// SooperLooper, whose loops begin and end on the bars of JACK's transport.
@Suite struct LooperTests {
  @Test(.enabled(if: hasLooper, "needs sooperlooper, which tools/lab prepare installs"))
  func `session loopers: SooperLooper's loops are whole bars, on the beat`() async throws {
    let stage = try await LabStage()
    let session = try await StartedSession("loopers", in: stage)
    let tablet = try LabPeer(.reference, in: stage)
    let looper = try LabPeer(.looper, in: stage)
    try await tablet.ask("enable on")
    try await tablet.ask("sync on")
    try await tablet.wait("peers", "1")
    try await tablet.ask("play")
    // A loop is recorded while the song plays, from the beginning of a bar on.
    _ = try await LabPeer(.jack, in: stage).wait("playing", "true")
    let ears = try await Ears("sooperlooper:common_out_1", in: stage)
    for (port, other) in [("common_in_2", "capture_2"), ("common_out_2", "playback_2")] {
      let cables = try await stage.cables(of: "sooperlooper:" + port) { !$0.isEmpty }
      #expect(cables == ["system:" + other])
    }
    // Don't use 120 BPM: there each bar line falls on the border of two periods, and the loop may begin in
    // either period.
    for tempo in [121.0, 97, 151] {
      try await tablet.ask("tempo \(tempo)")
      try await looper.wait("tempo", "\(tempo)")
      // On a busy machine SooperLooper drops a period while another of its threads holds the loop. In that
      // case, record again.
      var found = try await loop(looper, ears, in: stage, tempo)
      for _ in 1...2 where abs(found.excess) >= 1 || abs(found.late) >= 1 {
        found = try await loop(looper, ears, in: stage, tempo)
      }
      #expect(found.bars > 1.5 && abs(found.excess) < 1, "\(found)")
      #expect(Double(found.heard) > 0.8 * 8 * tempo / 60 && abs(found.late) < 1, "\(found)")
    }
    #expect(await session.end() == 0)
  }

  /// Records a loop. Returns the number of its bars, the milliseconds beyond whole bars, how many of its
  /// clicks were heard in eight seconds, and how many milliseconds they were after the beat.
  private func loop(
    _ looper: LabPeer, _ ears: Ears, in stage: LabStage, _ tempo: Double
  ) async throws -> (bars: Double, excess: Double, heard: Int, late: Double) {
    let heard = try await Interop.undisturbed(in: stage) {
      try await record(looper, in: stage)
      return try await ears.listen(for: .seconds(8))
    }
    let bars = try #require(await looper.ask("status")["seconds"]?.number) * tempo / 240
    let late = Interop.median(heard.map(\.late))
    print("SooperLooper at \(tempo) BPM: \(bars) bars, \(late) ms after the beat, median of \(heard.count)")
    return (bars, (bars - bars.rounded()) * 240_000 / tempo, heard.count, late)
  }

  /// Records our click from one bar line to another.
  private func record(_ looper: LabPeer, in stage: LabStage) async throws {
    let wire = ["tactus:click_1", "sooperlooper:common_in_1"]
    _ = try await stage.run("jack_connect", wire[0], wire[1])
    try await looper.ask("record")
    try await looper.wait("recording", "true")
    try await Task.sleep(for: .seconds(4))
    try await looper.ask("record")
    try await looper.wait("playing", "true")
    _ = try await stage.run("jack_disconnect", wire[0], wire[1])
  }
}
