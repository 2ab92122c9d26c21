// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TestSupport
import Testing

private let hasLooper = access("/usr/bin/sooperlooper", X_OK) == 0

/// SooperLooper, whose loops begin and end with the bars that JACK's transport shows.
@Suite struct LooperTests {
  @Test(.enabled(if: hasLooper, "needs sooperlooper, which tools/lab prepare installs"))
  func `loopers: SooperLooper's loops are whole bars, and play on the beat, in each tempo`() async throws {
    let stage = try await LabStage()
    let session = try await StartedSession("loopers", in: stage)
    let tablet = try LabPeer(.reference, in: stage)
    let looper = try LabPeer(.looper, in: stage)
    try await tablet.ask("enable on")
    try await tablet.ask("sync on")
    try await tablet.wait("peers", "1")
    try await tablet.ask("play")
    // A loop is of the song, from a bar of it on.
    _ = try await LabPeer(.jack, in: stage).wait("playing", "true")
    let ears = try await Ears("sooperlooper:common_out_1", in: stage)
    for (port, other) in [("common_in_2", "capture_2"), ("common_out_2", "playback_2")] {
      let cables = try await stage.cables(of: "sooperlooper:" + port) { !$0.isEmpty }
      #expect(cables == ["system:" + other])
    }
    for tempo in [120.0, 97, 151] {
      try await tablet.ask("tempo \(tempo)")
      try await looper.wait("tempo", "\(tempo)")
      let heard = try await Interop.undisturbed(in: stage) {
        try await record(looper, in: stage)
        return try await ears.listen(for: .seconds(8))
      }
      let bars = try #require(await looper.ask("status")["seconds"]?.number) * tempo / 240
      // Where the bar line is within a period, it may begin and end with the period.
      #expect(bars > 1.5 && abs(bars - bars.rounded()) * 240_000 / tempo < 6, "\(bars)")
      let late = Interop.median(heard.map(\.late))
      print("SooperLooper at \(tempo) BPM: \(bars) bars, \(late) ms after the beat, median of \(heard.count)")
      #expect(Double(heard.count) > 0.8 * 8 * tempo / 60, "\(heard.map { ($0.beat * 100).rounded() / 100 })")
      #expect(abs(late) < 6, "\(heard.map(\.late))")
    }
    #expect(await session.end() == 0)
  }

  /// Our click, from one bar line to another.
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
