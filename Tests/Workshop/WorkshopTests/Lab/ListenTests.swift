// SPDX-License-Identifier: GPL-2.0-or-later
import TactusTestSupport
import Testing

/// Tests the output of `tools/listen`, and that docs/first-five-minutes.md shows the same kinds of lines.
@Suite(.serialized) struct ListenTests {
  private func listen(_ options: [String]) async throws -> [String] {
    let stage = try await LabStage()
    let reference = try LabPeer(.reference, in: stage)
    try await reference.ask("enable on")
    let heard = try await ChildProcess.run(
      stage.command(
        on: 1,
        [Lab.top + "/tools/listen", "--for", "7", "--exact", "0", "--events"] + options + ["exact:out"]),
      within: .seconds(60))
    try #require(heard.status == 0, "\(heard.errors)")
    return heard.output.split(separator: "\n").map(String.init)
  }

  /// The remark that `tools/listen` adds if JACK's clock was disturbed.
  private let remark = " (exact to 0.2 ms only: JACK's clock has not settled yet)"

  /// The line without numbers, signs, ports, plurals, and the remark about JACK's clock.
  private func shape(_ line: String) -> String {
    let words = line.replacing(remark, with: "").split(separator: " ").enumerated().map {
      place, word -> String in
      if place == 0, word.hasSuffix(":") { return "PORT:" }
      let bare = word.drop { "+-".contains($0) }
      guard bare.first?.isNumber == true else { return String(word) }
      return "N" + bare.drop { $0.isNumber || $0 == "." }
    }
    return words.joined(separator: " ").replacing("onsets", with: "onset").replacing("peers", with: "peer")
      .replacing(
        "xruns", with: "xrun")
  }

  @Test func `the docs show only lines that tools/listen really prints`() async throws {
    // This line appears only if there were xruns.
    let printed = Set(try await listen([]).map(shape)).union(["the server lost time: N xrun"])
    #expect(printed.contains("listening at N Hz, N frames a period"))
    #expect(printed.contains("PORT: beat N, N ms, on a bar") && printed.contains("PORT: beat N, N ms"))
    let docs = try await ChildProcess.run(["cat", "\(Lab.top)/docs/first-five-minutes.md"]).output
    var isListening = false
    var shown = 0
    for line in docs.split(separator: "\n") {
      if line.hasPrefix("$ ") || line.hasPrefix("```") {
        isListening = line.hasPrefix("$ tools/listen")
      } else if isListening, !line.hasPrefix("["), line != "…" {
        shown += 1
        #expect(printed.contains(shape(String(line))), "\(line)")
      }
    }
    #expect(shown > 6)
  }

  @Test func `tools/listen --json prints JSON`() async throws {
    let lines = try await listen(["--json"])
    let kinds = lines.compactMap { line -> String? in
      if case .text(let kind)? = FlatJSON.object(line)?["type"] { return kind }
      return nil
    }
    #expect(kinds.first == "ready" && kinds.last == "end" && kinds.contains("onset"))
    #expect(lines.allSatisfy { $0.hasPrefix("{\"type\":\"") && $0.hasSuffix("}") })
  }
}
