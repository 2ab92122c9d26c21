// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import TactusTestSupport
import Testing

/// The example for live coders in docs/page.md, word for word except for the pairing code.
@Suite struct ExampleTests {
  private func example(_ visit: Visit) throws -> String {
    let file = try #require(fopen("\(Lab.top)/docs/page.md", "r"))
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 131_072)
    let count = fread(&bytes, 1, bytes.count, file)
    let page = String(decoding: bytes.prefix(count), as: UTF8.self)
    let code = try #require(page.split(separator: "```javascript\n").last?.split(separator: "```").first)
    let secret = try #require(visit.invitation.split(separator: "#").last)
    return String(code).replacing("K7QM-3XPA-9BCD-EFGH", with: secret)
  }

  @Test
  func `the JavaScript example works from a page of another origin`() async throws {
    let visit = try await Visit()
    let scratch = try ScratchFolder()
    let page = try scratch.write(
      "<!doctype html><title>live</title><script>\n\(try example(visit))</script>", to: "live.html")
    try await visit.ask("open file://\(page)")
    try await visit.until("Boolean(session) && trip < 1e9")
    try await visit.send("tempo", "133")
    try await visit.until("Math.abs(session[0] - 133) < 0.001")
    _ = try await visit.evaluate("say('/tactus/tempo', 99)")
    try await visit.until("Math.abs(session[0] - 99) < 0.001")
    // The clocks of the page and the peer have different zeros, so compare their beats at the same moment.
    let timeline = try await visit.evaluate("session.join(' ')").split(separator: " ").compactMap {
      Double($0)
    }
    try #require(timeline.count == 4)
    let frames = try await visit.value("frames 1 beat(T)").split(separator: ";")
    let off = frames.compactMap { frame -> Double? in
      let words = frame.split(separator: " ").compactMap { Double($0) }
      guard words.count == 3 else { return nil }
      return abs(words[1] - (timeline[1] + (words[0] - timeline[2]) * timeline[0] / 60e6))
    }.sorted()
    try #require(off.count > 5)
    #expect(off[off.count / 2] < 0.1, "beats between the example's clock and Link's: \(off)")
    try await visit.end()
  }
}
